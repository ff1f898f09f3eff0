//go:build linux

package virtual

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/sets"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipvs"
)

// New virtual servers are created in batches of messages: the library sends one at a
// time and waits for its answer through Go's poller, which takes several times as long.
// Later changes are few, and go through the library.

// Commands and attributes of IPVS (include/uapi/linux/ip_vs.h).
const (
	ipvsNewService = 1
	ipvsNewDest    = 5

	ipvsAttrService = 1
	ipvsAttrDest    = 2

	serviceFamily    = 1
	serviceProtocol  = 2
	serviceAddress   = 3
	servicePort      = 4
	serviceScheduler = 6
	serviceFlagWord  = 7
	serviceTimeout   = 8
	serviceNetmask   = 9

	destAddress = 1
	destPort    = 2
	destForward = 3
	destWeight  = 4
	destUpper   = 5
	destLower   = 6

	forwardMasq = 0
	ipvsVersion = 1
)

// create creates virtual servers and real servers, in the calling thread's namespace:
// the commands are -A and -a.
func create(list plan.VirtualCommands, memory *socket.Memory) error {
	kind, err := Load()
	if err != nil {
		return err
	}
	s, err := socket.Open(unix.NETLINK_GENERIC, memory)
	if err != nil {
		return err
	}
	defer s.Close()
	msgs := make([]socket.Message, 0, len(list))
	for i := range list {
		c := &list[i]
		if c.Real != nil {
			msgs = append(msgs, socket.Part(c, realMessage(kind, c.Server, c.Real))...)
			continue
		}
		m, err := serviceMessage(kind, c.Server)
		if err != nil {
			return err
		}
		msgs = append(msgs, socket.Part(c, m)...)
	}
	return s.Do(msgs)
}

// builder is an IPVS message being written.
type builder struct{ socket.Builder }

func startIPVS(kind uint16, command byte, v *ipvs.Server) (b *builder, service int) {
	b = &builder{socket.Builder{B: make([]byte, unix.NLMSG_HDRLEN, 160)}}
	binary.NativeEndian.PutUint16(b.B[4:], kind)
	binary.NativeEndian.PutUint16(b.B[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	b.B = append(b.B, command, ipvsVersion, 0, 0)
	service = b.Open(ipvsAttrService)
	b.Attr(serviceFamily, binary.NativeEndian.AppendUint16(nil, uint16(socket.Family(v.Addr.Addr())))...)
	b.Attr(serviceProtocol, binary.NativeEndian.AppendUint16(nil, uint16(sets.ProtocolNumbers[v.Proto]))...)
	b.endpoint(serviceAddress, servicePort, v.Addr)
	return b, service
}

func (m *builder) endpoint(address, port int, a netip.AddrPort) {
	m.Attr(address, a.Addr().AsSlice()...)
	m.Attr(port, byte(a.Port()>>8), byte(a.Port()))
}

func (m *builder) host32(kind int, values ...uint32) {
	var b []byte
	for _, v := range values {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	m.Attr(kind, b...)
}

func serviceMessage(kind uint16, v *ipvs.Server) (socket.Message, error) {
	s, err := serviceOf(v)
	if err != nil {
		return socket.Message{}, err
	}
	b, service := startIPVS(kind, ipvsNewService, v)
	b.Text(serviceScheduler, v.Scheduler)
	b.host32(serviceFlagWord, s.Flags, 0xffffffff) // with a full mask
	b.host32(serviceTimeout, s.Timeout)
	b.host32(serviceNetmask, s.Netmask)
	b.Close(service)
	m := b.Done()
	m.Words = func(e unix.Errno) string {
		switch e {
		case unix.ENOENT:
			return fmt.Sprintf("the kernel has no scheduler %[1]s (module ip_vs_%[1]s)", v.Scheduler)
		case unix.EPERM:
			return "operation not permitted (IPVS is not available in user namespaces)"
		}
		return ""
	}
	return m, nil
}

func realMessage(kind uint16, v *ipvs.Server, r *ipvs.Real) socket.Message {
	b, service := startIPVS(kind, ipvsNewDest, v)
	b.Close(service)
	dest := b.Open(ipvsAttrDest)
	b.endpoint(destAddress, destPort, r.Addr)
	b.host32(destForward, forwardMasq)
	b.host32(destWeight, uint32(r.Weight))
	b.host32(destUpper, 0)
	b.host32(destLower, 0)
	b.Close(dest)
	return b.Done()
}
