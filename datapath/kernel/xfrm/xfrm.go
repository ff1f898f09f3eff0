//go:build linux

package xfrm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// espCipher is AES-GCM for ESP (RFC 4106), and espTag the bits of its tag.
const (
	espCipher    = "rfc4106(gcm(aes))"
	espTag       = 128
	replayWindow = 32
)

var dirs = map[plan.XfrmDir]netlink.Dir{plan.XfrmOut: netlink.XFRM_DIR_OUT, plan.XfrmIn: netlink.XFRM_DIR_IN, plan.XfrmFwd: netlink.XFRM_DIR_FWD}

func dirOf(number netlink.Dir) (dir plan.XfrmDir, known bool) {
	for dir, n := range dirs {
		if n == number {
			return dir, true
		}
	}
	return "", false
}

// Do carries out a step on IPsec in the namespace of the thread. What is changed is made
// anew: the kernel does not replace the keys of an association.
func Do(s *plan.Step) error {
	handle, err := netlink.NewHandle(unix.NETLINK_XFRM)
	if err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	defer handle.Close()
	switch x := s.Item.(type) {
	case *plan.XfrmState:
		state := stateOf(x)
		if s.Verb != plan.Add {
			err = ignore(handle.XfrmStateDel(state), unix.ESRCH)
		}
		if err == nil && s.Verb != plan.Delete {
			err = handle.XfrmStateAdd(state)
		}
	case *plan.XfrmPolicy:
		switch policy := policyOf(x); s.Verb {
		case plan.Delete:
			err = ignore(handle.XfrmPolicyDel(policy), unix.ENOENT)
		default:
			err = handle.XfrmPolicyUpdate(policy)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return nil
}

func ignore(err error, what unix.Errno) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

func stateOf(s *plan.XfrmState) *netlink.XfrmState {
	return &netlink.XfrmState{Src: s.Src.AsSlice(), Dst: s.Dst.AsSlice(), Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TUNNEL, Spi: int(s.SPI),
		ReplayWindow: replayWindow, Aead: &netlink.XfrmStateAlgo{Name: espCipher, Key: s.Key[:], ICVLen: espTag}}
}

func policyOf(p *plan.XfrmPolicy) *netlink.XfrmPolicy {
	return &netlink.XfrmPolicy{Dir: dirs[p.Dir], Src: ipNet(p.From), Dst: ipNet(p.To),
		Tmpls: []netlink.XfrmPolicyTmpl{{Src: p.Src.AsSlice(), Dst: p.Dst.AsSlice(), Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TUNNEL}}}
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Messages and sizes of IPsec (include/uapi/linux/xfrm.h).
const (
	setDefaultPolicy, getDefaultPolicy = 0x27, 0x28
	blockByDefault, acceptByDefault    = 1, 2
)

// Read adds the associations and policies of ESP in the namespace of the thread. What
// plans cannot have is foreign.
func Read(memory *socket.Memory, n *plan.Netns) error {
	sock, err := socket.Open(unix.NETLINK_XFRM, memory)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil // a kernel without IPsec
	}
	if err != nil {
		return err
	}
	defer sock.Close()
	d := deviations.Of(n)
	list, err := sock.Dump(nl.XFRM_MSG_GETSA, nil)
	if err != nil {
		return fmt.Errorf("xfrm states: %w", err)
	}
	for _, m := range list {
		if err := readState(d, m); err != nil {
			return fmt.Errorf("xfrm states: %w", err)
		}
	}
	if list, err = sock.Dump(nl.XFRM_MSG_GETPOLICY, nil); err != nil {
		return fmt.Errorf("xfrm policies: %w", err)
	}
	for _, m := range list {
		if err := readPolicy(d, m); err != nil {
			return fmt.Errorf("xfrm policies: %w", err)
		}
	}
	return readDefault(d, sock)
}

func readState(d deviations.List, m []byte) error {
	attrs, err := socket.Attrs(m, nl.SizeofXfrmUsersaInfo)
	if err != nil {
		return err
	}
	s := nl.DeserializeXfrmUsersaInfo(m[unix.NLMSG_HDRLEN:])
	if s.Id.Spi == 0 {
		return nil // one that the kernel made because it lacks another
	}
	state := plan.XfrmState{Src: addrOf(s.Saddr, s.Family), Dst: addrOf(s.Id.Daddr, s.Family), SPI: nl.Swap32(s.Id.Spi)}
	_, marked := attrs[nl.XFRMA_MARK]
	aead := attrs[nl.XFRMA_ALG_AEAD]
	cipher := len(aead) >= nl.SizeofXfrmAlgoAEAD && nl.BytesToString(aead) == espCipher && nl.DeserializeXfrmAlgoAEAD(aead).AlgICVLen == espTag
	if s.Id.Proto != unix.IPPROTO_ESP || !cipher || s.Mode != uint8(netlink.XFRM_MODE_TUNNEL) || s.Reqid != 0 || s.Flags != 0 || !unlimited(&s.Lft) || !everything(&s.Sel) || has(attrs, oddities) {
		what := fmt.Sprintf("xfrm state src %s dst %s proto %d spi %#x", state.Src, state.Dst, s.Id.Proto, state.SPI)
		id := nl.XfrmUsersaId{Daddr: s.Id.Daddr, Spi: s.Id.Spi, Family: s.Family, Proto: s.Id.Proto}
		req := socket.Request(nl.XFRM_MSG_DELSA, 0)
		req.AddData(&id)
		req.AddData(nl.NewRtAttr(nl.XFRMA_SRCADDR, s.Saddr.Serialize()))
		if marked {
			req.AddData(nl.NewRtAttr(nl.XFRMA_MARK, attrs[nl.XFRMA_MARK]))
		}
		d.Foreign(what, d.IP("xfrm state delete src %s dst %s proto %d spi %#x", state.Src, state.Dst, s.Id.Proto, state.SPI), plan.Request{Family: unix.NETLINK_XFRM, Message: req.Serialize()})
		return nil
	}
	copy(state.Key[:], aead[min(len(aead), nl.SizeofXfrmAlgoAEAD):])
	d.Netns.XfrmStates = append(d.Netns.XfrmStates, state)
	return nil
}

// oddities are attributes of associations and policies that plans do not have.
var oddities = []uint16{nl.XFRMA_ENCAP, nl.XFRMA_COADDR, nl.XFRMA_MARK, nl.XFRMA_TFCPAD, nl.XFRMA_SA_EXTRA_FLAGS, nl.XFRMA_OFFLOAD_DEV, nl.XFRMA_SET_MARK, nl.XFRMA_IF_ID}

func has(attrs map[uint16][]byte, any []uint16) bool {
	return slices.ContainsFunc(any, func(kind uint16) bool { _, ok := attrs[kind]; return ok })
}

// unlimited reports whether it does not end by itself.
func unlimited(l *nl.XfrmLifetimeCfg) bool {
	return l.HardByteLimit == nl.XFRM_INF && l.HardPacketLimit == nl.XFRM_INF && l.HardAddExpiresSeconds == 0 && l.HardUseExpiresSeconds == 0
}

// everything reports whether a selector takes all packets between its blocks.
func everything(s *nl.XfrmSelector) bool {
	return s.Proto == 0 && s.Ifindex == 0 && s.DportMask == 0 && s.SportMask == 0 && s.PrefixlenS == 0 && s.PrefixlenD == 0
}

// demandsESP reports whether templates are one, of ESP in a tunnel, that no packet may do without.
func demandsESP(tmpl []byte) bool {
	if len(tmpl) != nl.SizeofXfrmUserTmpl {
		return false
	}
	t := nl.DeserializeXfrmUserTmpl(tmpl)
	return t.XfrmId.Proto == unix.IPPROTO_ESP && t.XfrmId.Spi == 0 && t.Mode == uint8(netlink.XFRM_MODE_TUNNEL) && t.Reqid == 0 && t.Optional == 0
}

// readPolicy adds a policy. The library takes IPv6 prefixes of 32 bits and fewer for IPv4.
func readPolicy(d deviations.List, m []byte) error {
	attrs, err := socket.Attrs(m, nl.SizeofXfrmUserpolicyInfo)
	if err != nil {
		return err
	}
	info := nl.DeserializeXfrmUserpolicyInfo(m[unix.NLMSG_HDRLEN:])
	dir, known := dirOf(netlink.Dir(info.Dir))
	if !known {
		return nil // of a socket
	}
	p := plan.XfrmPolicy{Dir: dir, From: netip.PrefixFrom(addrOf(info.Sel.Saddr, info.Sel.Family), int(info.Sel.PrefixlenS)),
		To: netip.PrefixFrom(addrOf(info.Sel.Daddr, info.Sel.Family), int(info.Sel.PrefixlenD))}
	sel := info.Sel
	sel.PrefixlenS, sel.PrefixlenD = 0, 0
	if tmpl := attrs[nl.XFRMA_TMPL]; info.Action == 0 && info.Priority == 0 && info.Flags == 0 && unlimited(&info.Lft) && !has(attrs, oddities) && everything(&sel) && demandsESP(tmpl) {
		t := nl.DeserializeXfrmUserTmpl(tmpl)
		p.Src, p.Dst = addrOf(t.Saddr, t.Family), addrOf(t.XfrmId.Daddr, t.Family)
		d.Netns.XfrmPolicies = append(d.Netns.XfrmPolicies, p)
		return nil
	}
	req := socket.Request(nl.XFRM_MSG_DELPOLICY, 0)
	req.AddData(&nl.XfrmUserpolicyId{Sel: info.Sel, Index: info.Index, Dir: info.Dir})
	for _, kind := range []int{nl.XFRMA_MARK, nl.XFRMA_IF_ID} {
		if v, ok := attrs[uint16(kind)]; ok {
			req.AddData(nl.NewRtAttr(kind, v))
		}
	}
	words := fmt.Sprintf("src %s dst %s dir %s", p.From, p.To, p.Dir)
	action := map[uint8]string{0: "allow", 1: "block"}[info.Action]
	d.Foreign("xfrm policy "+words+" action "+action, d.IP("xfrm policy delete %s index %d", words, info.Index), plan.Request{Family: unix.NETLINK_XFRM, Message: req.Serialize()})
	return nil
}

// readDefault notes what happens to packets without a policy, where they are not let through.
func readDefault(d deviations.List, sock *socket.Socket) error {
	b, err := sock.Get(getDefaultPolicy, make([]byte, 4))
	if err != nil || len(b) < unix.NLMSG_HDRLEN+3 {
		return nil // before 5.15
	}
	now := b[unix.NLMSG_HDRLEN:][:3] // in, forward, out
	if !slices.Contains(now, blockByDefault) {
		return nil
	}
	m := socket.Builder{B: make([]byte, unix.NLMSG_HDRLEN)}
	binary.NativeEndian.PutUint16(m.B[4:], setDefaultPolicy)
	binary.NativeEndian.PutUint16(m.B[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	m.B = append(m.B, acceptByDefault, acceptByDefault, acceptByDefault, 0)
	d.Differs("xfrm default policy", "block", "accept", d.IP("xfrm policy setdefault in accept fwd accept out accept"), plan.Request{Family: unix.NETLINK_XFRM, Message: m.Done().Data})
	return nil
}

func addrOf(a nl.XfrmAddress, family uint16) netip.Addr {
	if family == unix.AF_INET {
		return netip.AddrFrom4([4]byte(a[:4]))
	}
	return netip.AddrFrom16(a)
}
