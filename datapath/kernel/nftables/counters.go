//go:build linux

package nftables

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Counters lists what the rules with a counter have counted, of the tables
// beside those of iptables.
func Counters() (list []plan.Counted, err error) {
	_, err = read(true, func(t *nft.Table, chain, rule string, a attrs) {
		if packets, bytes, ok := counted(a[unix.NFTA_RULE_EXPRESSIONS]); ok {
			list = append(list, plan.Counted{Family: t.Family, Table: t.Name, Chain: chain, Rule: rule, Packets: packets, Bytes: bytes})
		}
	})
	return list, err
}

// counted is what the first counter among the instructions of a rule says.
func counted(instructions []byte) (packets, bytes uint64, ok bool) {
	_ = socket.EachAttr(instructions, func(_ uint16, b []byte) error {
		insn, err := parseAttrs(b)
		if err != nil || ok || insn.Text(unix.NFTA_EXPR_NAME) != "counter" {
			return err
		}
		c := insn.inner(unix.NFTA_EXPR_DATA)
		p, n := c[unix.NFTA_COUNTER_PACKETS], c[unix.NFTA_COUNTER_BYTES]
		if len(p) == 8 && len(n) == 8 {
			packets, bytes, ok = binary.BigEndian.Uint64(p), binary.BigEndian.Uint64(n), true
		}
		return nil
	})
	return packets, bytes, ok
}
