//go:build linux

package bench

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// The maps of many services in the flat layout, as bare netlink: what netlab loads besides is
// a few chains.

// The numbers of types, and a mark (enum datatypes of nft; package flat).
const (
	typeAddr, typeProto, typePort, typeMark = 7, 12, 13, 19
	foreignMark                             = 0x200000 // masquerade what does not come from pods
)

// elements are those of a set, as key and data.
type elements struct {
	name      string
	key, data []byte    // types
	sizes     [2]uint32 // of a key and of data
	list      [][2][]byte
}

// loadMaps creates the table and fills its maps in one transaction, in the namespace of the
// calling thread.
func loadMaps(services []service) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	n := &nl{fd: fd}
	defer n.close()
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 64<<20); err != nil {
		return fmt.Errorf("netlink buffer (only root can have a large one): %w", err)
	}
	port := func(p uint16) []byte { return append(binary.BigEndian.AppendUint16(nil, p), 0, 0) }
	mark := func(m uint32) []byte { return binary.NativeEndian.AppendUint32(nil, m) }
	classes := elements{name: "services", key: []byte{typeAddr, typeProto, typePort}, data: []byte{typeMark}, sizes: [2]uint32{12, 4}}
	slots := elements{name: "endpoints", key: []byte{typeAddr, typeProto, typePort, typeMark}, data: []byte{typeAddr, typePort}, sizes: [2]uint32{16, 8}}
	addrs := elements{name: "cluster-ips", key: []byte{typeAddr}, sizes: [2]uint32{4, 0}}
	for _, s := range services {
		to := append(append(s.To.Addr().AsSlice(), unix.IPPROTO_TCP, 0, 0, 0), port(s.To.Port())...)
		classes.list = append(classes.list, [2][]byte{to, mark(foreignMark + uint32(len(s.Endpoints)))})
		addrs.list = append(addrs.list, [2][]byte{s.To.Addr().AsSlice(), nil})
		for i, e := range s.Endpoints {
			key := append(append([]byte{}, to...), mark(foreignMark+uint32(i))...)
			slots.list = append(slots.list, [2][]byte{key, append(e.Addr().AsSlice(), port(e.Port())...)})
		}
	}
	n.batch(unix.NFNL_MSG_BATCH_BEGIN)
	n.table(unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE, func() {})
	for id, set := range []*elements{&classes, &slots, &addrs} {
		n.set(uint32(id+1), set)
	}
	n.batch(unix.NFNL_MSG_BATCH_END)
	return n.flush()
}

// service is a cluster IP with its endpoints.
type service struct {
	To        netip.AddrPort
	Endpoints []netip.AddrPort
}

// batch begins or ends a transaction. Not every kernel acknowledges that.
func (n *nl) batch(kind uint16) {
	start := len(n.buf)
	n.message(kind, 0, binary.BigEndian.AppendUint16([]byte{unix.AF_UNSPEC, 0}, unix.NFNL_SUBSYS_NFTABLES), func() {})
	binary.NativeEndian.PutUint16(n.buf[start+6:], unix.NLM_F_REQUEST)
	n.count--
}

func (n *nl) table(kind, flags uint16, attributes func()) {
	n.message(unix.NFNL_SUBSYS_NFTABLES<<8|kind, flags, []byte{unix.NFPROTO_IPV4, 0, 0, 0}, func() {
		n.text(unix.NFTA_TABLE_NAME, "kube-proxy")
		attributes()
	})
}

// be32 is a number as nf_tables has them.
func (n *nl) be32(kind uint16, v uint32) { n.attr(kind, binary.BigEndian.AppendUint32(nil, v)) }

// inside adds an attribute of attributes, marked as such.
func (n *nl) inside(kind uint16, attributes func()) { n.nest(kind|unix.NLA_F_NESTED, attributes) }

func (n *nl) set(id uint32, e *elements) {
	kind := func(types []byte) (k uint32) {
		for _, t := range types {
			k = k<<6 | uint32(t)
		}
		return k
	}
	n.table(unix.NFT_MSG_NEWSET, creates, func() {
		n.text(unix.NFTA_SET_NAME, e.name)
		n.be32(unix.NFTA_SET_ID, id)
		n.be32(unix.NFTA_SET_KEY_TYPE, kind(e.key))
		n.be32(unix.NFTA_SET_KEY_LEN, e.sizes[0])
		if e.data != nil {
			n.be32(unix.NFTA_SET_FLAGS, unix.NFT_SET_MAP)
			n.be32(unix.NFTA_SET_DATA_TYPE, kind(e.data))
			n.be32(unix.NFTA_SET_DATA_LEN, e.sizes[1])
		}
		n.inside(unix.NFTA_SET_DESC, func() { n.be32(unix.NFTA_SET_DESC_SIZE, uint32(max(8*len(e.list), 65536))) })
	})
	const most = 60000 // bytes of elements in a message: an attribute has 16 bits for its length
	for list := e.list; len(list) > 0; {
		n.table(unix.NFT_MSG_NEWSETELEM, creates, func() {
			n.text(unix.NFTA_SET_ELEM_LIST_SET, e.name)
			start := len(n.buf)
			n.inside(unix.NFTA_SET_ELEM_LIST_ELEMENTS, func() {
				for ; len(list) > 0 && len(n.buf)-start < most; list = list[1:] {
					n.inside(unix.NFTA_LIST_ELEM, func() {
						n.inside(unix.NFTA_SET_ELEM_KEY, func() { n.attr(unix.NFTA_DATA_VALUE, list[0][0]) })
						if e.data != nil {
							n.inside(unix.NFTA_SET_ELEM_DATA, func() { n.attr(unix.NFTA_DATA_VALUE, list[0][1]) })
						}
					})
				}
			})
		})
	}
}
