//go:build linux

package xtables

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Messages and attributes of accounting objects (nfnl_acct_msg_types and nfnl_acct_type in
// include/uapi/linux/netfilter/nfnetlink_acct.h).
const (
	newAccount  = 7 << 8 // of subsystem 7
	accountName = 1
)

// EnsureAccounts creates the accounting objects that are not there yet, in the calling thread's
// namespace. They go with the namespace: kube-proxy never deletes them.
func EnsureAccounts(names []string) error {
	for _, name := range names {
		req := nl.NewNetlinkRequest(newAccount, unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
		req.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, Version: nl.NFNETLINK_V0})
		req.AddData(nl.NewRtAttr(accountName, nl.ZeroTerminated(name)))
		if _, err := req.Execute(unix.NETLINK_NETFILTER, 0); err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("nfacct add %s: %w", name, err)
		}
	}
	return nil
}
