//go:build linux

package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
)

// New virtual servers go in batches of messages: the library sends one at a time and
// waits for its answer through Go's poller, which takes several times as long. What
// changes later is little, and goes through the library.

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

// addVirtual makes virtual servers with their real servers, in the calling thread's
// namespace.
func addVirtual(list []plan.VirtualServer, memory *scratch) error {
	if len(list) == 0 {
		return nil
	}
	kind, err := loadIPVS()
	if err != nil {
		return err
	}
	s, err := openNetlink(unix.NETLINK_GENERIC, memory)
	if err != nil {
		return err
	}
	defer s.close()
	var msgs []message
	for i := range list {
		v := &list[i]
		m, err := serviceMessage(kind, v)
		if err != nil {
			return err
		}
		msgs = append(msgs, m)
		for j := range v.Real {
			msgs = append(msgs, realMessage(kind, v, &v.Real[j]))
		}
	}
	return s.do(msgs)
}

func startIPVS(kind uint16, command byte, v *plan.VirtualServer) (b *builder, service int) {
	b = &builder{b: make([]byte, unix.NLMSG_HDRLEN, 160)}
	binary.NativeEndian.PutUint16(b.b[4:], kind)
	binary.NativeEndian.PutUint16(b.b[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	b.b = append(b.b, command, ipvsVersion, 0, 0)
	service = b.open(ipvsAttrService)
	b.attr(serviceFamily, binary.NativeEndian.AppendUint16(nil, uint16(family(v.Addr.Addr())))...)
	b.attr(serviceProtocol, binary.NativeEndian.AppendUint16(nil, uint16(protocolNumbers[v.Proto]))...)
	b.endpoint(serviceAddress, servicePort, v.Addr)
	return b, service
}

func (m *builder) endpoint(address, port int, a netip.AddrPort) {
	m.attr(address, a.Addr().AsSlice()...)
	m.attr(port, byte(a.Port()>>8), byte(a.Port()))
}

func (m *builder) host32(kind int, values ...uint32) {
	var b []byte
	for _, v := range values {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	m.attr(kind, b...)
}

func serviceMessage(kind uint16, v *plan.VirtualServer) (message, error) {
	s, err := serviceOf(v)
	if err != nil {
		return message{}, err
	}
	b, service := startIPVS(kind, ipvsNewService, v)
	b.text(serviceScheduler, v.Scheduler)
	b.host32(serviceFlagWord, s.Flags, 0xffffffff) // under a mask of all
	b.host32(serviceTimeout, s.Timeout)
	b.host32(serviceNetmask, s.Netmask)
	b.close(service)
	m := b.done(func() string { return "ipvsadm -A " + v.Words() })
	m.words = func(e unix.Errno) string {
		switch e {
		case unix.ENOENT:
			return fmt.Sprintf("the kernel has no scheduler %[1]s (module ip_vs_%[1]s)", v.Scheduler)
		case unix.EPERM:
			return "operation not permitted (IPVS refuses user namespaces)"
		}
		return ""
	}
	return m, nil
}

func realMessage(kind uint16, v *plan.VirtualServer, r *plan.RealServer) message {
	b, service := startIPVS(kind, ipvsNewDest, v)
	b.close(service)
	dest := b.open(ipvsAttrDest)
	b.endpoint(destAddress, destPort, r.Addr)
	b.host32(destForward, forwardMasq)
	b.host32(destWeight, uint32(r.Weight))
	b.host32(destUpper, 0)
	b.host32(destLower, 0)
	b.close(dest)
	return b.done(func() string { return fmt.Sprintf("ipvsadm -a %s -r %s -m -w %d", v.Service(), r.Addr, r.Weight) })
}
