//go:build linux

package conntrack

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
)

// seenReply is the bit of an entry's status that says that an answer came (IPS_SEEN_REPLY in
// nf_conntrack_common.h).
const seenReply = 1 << 1

// Table lists the entries of a namespace. Its socket stays open: to close one takes 10 ms.
type Table struct{ socket *nl.NetlinkSocket }

// Open prepares to list the entries of the calling thread's namespace. The caller closes the table.
func Open() (*Table, error) {
	s, err := nl.Subscribe(unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("conntrack -L: %w", err)
	}
	return &Table{s}, nil
}

// Close closes the table.
func (t *Table) Close() { t.socket.Close() }

// List returns the entries of both families, as conntrack -L does. The library's own list leaves out
// the status.
func (t *Table) List() (all []flow.Entry, err error) {
	req := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_CTNETLINK<<8|nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP)
	req.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_NETFILTER: {Socket: t.socket}}
	req.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, Version: nl.NFNETLINK_V0})
	messages, err := req.Execute(unix.NETLINK_NETFILTER, 0)
	if err != nil {
		return nil, fmt.Errorf("conntrack -L: %w", err)
	}
	for _, m := range messages {
		if e, ok := entry(m); ok {
			all = append(all, e)
		}
	}
	return all, nil
}

// entry reads one message.
func entry(m []byte) (e flow.Entry, ok bool) {
	const header = 4 // struct nfgenmsg
	if len(m) < header {
		return e, false
	}
	for kind, value := range attributes(m[header:]) {
		switch kind {
		case nl.CTA_TUPLE_ORIG:
			e.Protocol, e.Source, e.Destination = ends(value)
		case nl.CTA_TUPLE_REPLY:
			_, e.ReplySource, e.ReplyDestination = ends(value)
		case nl.CTA_STATUS:
			e.Replied = len(value) == 4 && binary.BigEndian.Uint32(value)&seenReply != 0
		}
	}
	return e, e.Source.IsValid()
}

// ends reads a tuple.
func ends(b []byte) (protocol string, source, destination netip.AddrPort) {
	var from, to netip.Addr
	var ports [2]uint16
	for kind, value := range attributes(b) {
		for kind2, v := range attributes(value) {
			switch {
			case kind == nl.CTA_TUPLE_IP && (kind2 == nl.CTA_IP_V4_SRC || kind2 == nl.CTA_IP_V6_SRC):
				from, _ = netip.AddrFromSlice(v)
			case kind == nl.CTA_TUPLE_IP:
				to, _ = netip.AddrFromSlice(v)
			case kind2 == nl.CTA_PROTO_NUM && len(v) == 1:
				protocol = protocolName(v[0])
			case kind2 == nl.CTA_PROTO_SRC_PORT && len(v) == 2:
				ports[0] = binary.BigEndian.Uint16(v)
			case kind2 == nl.CTA_PROTO_DST_PORT && len(v) == 2:
				ports[1] = binary.BigEndian.Uint16(v)
			}
		}
	}
	return protocol, netip.AddrPortFrom(from, ports[0]), netip.AddrPortFrom(to, ports[1])
}

func protocolName(number uint8) string {
	switch number {
	case unix.IPPROTO_ICMP:
		return "icmp"
	case unix.IPPROTO_ICMPV6:
		return "icmpv6"
	}
	return flowProtocol(number)
}

// attributes are those of a message, by their kinds.
func attributes(b []byte) map[uint16][]byte {
	all := map[uint16][]byte{}
	list, err := nl.ParseRouteAttr(b)
	if err != nil {
		return nil
	}
	for _, a := range list {
		all[a.Attr.Type&^(syscall.NLA_F_NESTED|syscall.NLA_F_NET_BYTEORDER)] = a.Value
	}
	return all
}
