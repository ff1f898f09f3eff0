//go:build linux

package nftables

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Tables of nf_tables are written and read over netlink, as the instructions that the
// kernel runs: what nft prints differs between versions, what it sends is a stable
// kernel interface. So no program is needed, and nothing has to be parsed.

const nftSubsystem = unix.NFNL_SUBSYS_NFTABLES << 8

// family is the number of a family (NFPROTO_*).
func family(name string) (uint8, error) {
	switch name {
	case "inet":
		return unix.NFPROTO_INET, nil
	case "ip":
		return unix.NFPROTO_IPV4, nil
	case "ip6":
		return unix.NFPROTO_IPV6, nil
	}
	if f, ok := others[name]; ok {
		return f, nil
	}
	return 0, fmt.Errorf("nft: unknown family %q", name)
}

// others are the families that no plan has.
var others = map[string]uint8{"arp": unix.NFPROTO_ARP, "bridge": unix.NFPROTO_BRIDGE, "netdev": unix.NFPROTO_NETDEV}

// Open opens a socket for Apply and Generation, in the namespace of the calling thread. To close
// one waits until the kernel has freed what the last change replaced, which takes longer than a change.
func Open() (*socket.Socket, error) { return socket.Open(unix.NETLINK_NETFILTER, socket.NewMemory()) }

// Apply carries out edits.
func Apply(ctx context.Context, sock *socket.Socket, edits []nft.Edit) error {
	msgs, err := messages(ctx, edits)
	if err != nil {
		return err
	}
	return sock.Transact(ctx, msgs)
}

// Generation is the number of the ruleset of the socket's namespace: it changes with every
// change of any nf_tables rule in it.
func Generation(sock *socket.Socket) (uint32, error) {
	data, err := sock.Ask(startMessage(unix.NFT_MSG_GETGEN, 0, unix.AF_UNSPEC).Done())
	if err != nil || len(data) < nl.SizeofNfgenmsg {
		return 0, err
	}
	a, err := parseAttrs(data[nl.SizeofNfgenmsg:])
	return a.number(unix.NFTA_GEN_ID), err
}

// messages are those of the edits: first what no packet meets yet, of all tables, so that
// the rest can be one transaction however much that is.
func messages(ctx context.Context, edits []nft.Edit) ([]socket.Message, error) {
	w := work{salt: rand.Uint32()}
	for _, unseen := range []bool{true, false} {
		for i := range edits {
			if err := w.edit(&edits[i], unseen); err != nil {
				return nil, err
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	return w.msgs, nil
}
