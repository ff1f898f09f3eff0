package bgp

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"time"

	packet "github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"github.com/netlab/netlab/datapath/plan/bgp"
)

// asTrans stands for an AS number that does not fit into two bytes (RFC 6793).
const asTrans = 23456

// localPreference is that of all internal paths.
const localPreference = 100

// open is the first message of a session: who speaks, and that both IP families and AS
// numbers of four bytes are understood.
func open(s *bgp.Speaker, hold time.Duration) (*packet.BGPMessage, error) {
	as := uint16(asTrans)
	if s.AS <= math.MaxUint16 {
		as = uint16(s.AS)
	}
	return packet.NewBGPOpenMessage(as, uint16(min(math.MaxUint16, hold/time.Second)), s.ID, []packet.OptionParameterInterface{
		packet.NewOptionParameterCapability([]packet.ParameterCapabilityInterface{
			packet.NewCapMultiProtocol(packet.RF_IPv4_UC), packet.NewCapMultiProtocol(packet.RF_IPv6_UC), packet.NewCapFourOctetASNumber(s.AS)})})
}

// asOf is the AS number of whoever sent an open message.
func asOf(m *packet.BGPOpen) uint32 {
	for _, p := range m.OptParams {
		if list, ok := p.(*packet.OptionParameterCapability); ok {
			for _, c := range list.Capability {
				if as, ok := c.(*packet.CapFourOctetASNumber); ok {
					return as.CapValue
				}
			}
		}
	}
	return uint32(m.MyAS)
}

// update tells a peer of a path, or that there is none any more.
func update(path bgp.Path, withdraw, internal bool) (*packet.BGPMessage, error) {
	prefix, err := packet.NewIPAddrPrefix(path.Prefix)
	if err != nil {
		return nil, err
	}
	nlri := []packet.PathNLRI{{NLRI: prefix}}
	ipv6 := path.Prefix.Addr().Is6()
	switch {
	case withdraw && ipv6:
		gone, err := packet.NewPathAttributeMpUnreachNLRI(packet.RF_IPv6_UC, nlri)
		return packet.NewBGPUpdateMessage(nil, []packet.PathAttributeInterface{gone}, nil), err
	case withdraw:
		return packet.NewBGPUpdateMessage(nlri, nil, nil), nil
	}
	var segments []packet.AsPathParamInterface
	if len(path.AS) > 0 {
		segments = append(segments, packet.NewAs4PathParam(packet.BGP_ASPATH_ATTR_TYPE_SEQ, path.AS))
	}
	attrs := []packet.PathAttributeInterface{packet.NewPathAttributeOrigin(packet.BGP_ORIGIN_ATTR_TYPE_IGP), packet.NewPathAttributeAsPath(segments)}
	add := func(a packet.PathAttributeInterface, e error) {
		attrs, err = append(attrs, a), errors.Join(err, e)
	}
	if !ipv6 {
		add(packet.NewPathAttributeNextHop(path.NextHop))
	}
	if internal {
		add(packet.NewPathAttributeLocalPref(localPreference), nil)
	}
	if path.Originator.IsValid() {
		add(packet.NewPathAttributeOriginatorId(path.Originator))
		add(packet.NewPathAttributeClusterList(path.Clusters))
	}
	if ipv6 {
		add(packet.NewPathAttributeMpReachNLRI(packet.RF_IPv6_UC, nlri, path.NextHop))
		nlri = nil
	}
	return packet.NewBGPUpdateMessage(nil, attrs, nlri), err
}

// pathsOf are the paths that an update tells of, and the prefixes that it withdraws.
func pathsOf(m *packet.BGPUpdate) (paths []bgp.Path, gone []netip.Prefix) {
	var common bgp.Path
	reached := map[netip.Addr][]packet.PathNLRI{}
	for _, a := range m.PathAttributes {
		switch a := a.(type) {
		case *packet.PathAttributeAsPath:
			for _, segment := range a.Value {
				common.AS = append(common.AS, segment.GetAS()...)
			}
		case *packet.PathAttributeNextHop:
			reached[a.Value] = m.NLRI
		case *packet.PathAttributeOriginatorId:
			common.Originator = a.Value
		case *packet.PathAttributeClusterList:
			common.Clusters = a.Value
		case *packet.PathAttributeMpReachNLRI:
			reached[a.Nexthop] = a.Value
		case *packet.PathAttributeMpUnreachNLRI:
			gone = append(gone, prefixes(a.Value)...)
		}
	}
	for hop, list := range reached {
		for _, prefix := range prefixes(list) {
			path := common
			path.Prefix, path.NextHop = prefix, hop
			paths = append(paths, path)
		}
	}
	return paths, append(gone, prefixes(m.WithdrawnRoutes)...)
}

func prefixes(list []packet.PathNLRI) (out []netip.Prefix) {
	for _, n := range list {
		if p, ok := n.NLRI.(*packet.IPAddrPrefix); ok {
			out = append(out, p.Prefix)
		}
	}
	return out
}

// receive reads one message, for which it waits no longer than the hold time.
func receive(conn net.Conn, hold time.Duration) (*packet.BGPMessage, error) {
	if err := conn.SetReadDeadline(time.Now().Add(hold)); err != nil {
		return nil, err
	}
	head := make([]byte, packet.BGP_HEADER_LENGTH)
	if _, err := io.ReadFull(conn, head); err != nil {
		return nil, err
	}
	var h packet.BGPHeader
	if err := h.DecodeFromBytes(head); err != nil {
		return nil, err
	}
	if h.Len < packet.BGP_HEADER_LENGTH || h.Len > packet.BGP_MAX_MESSAGE_LENGTH {
		return nil, fmt.Errorf("a message of %d bytes", h.Len)
	}
	body := make([]byte, int(h.Len)-len(head))
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil, err
	}
	m, err := packet.ParseBGPBody(&h, body)
	if err != nil {
		return nil, err
	}
	if n, ok := m.Body.(*packet.BGPNotification); ok {
		return nil, fmt.Errorf("the peer ended it: error %d/%d (RFC 4271, section 4.5)", n.ErrorCode, n.ErrorSubcode)
	}
	return m, nil
}

// send writes messages.
func send(conn net.Conn, within time.Duration, list ...*packet.BGPMessage) error {
	var out []byte
	for _, m := range list {
		b, err := m.Serialize()
		if err != nil {
			return err
		}
		out = append(out, b...)
	}
	if err := conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	_, err := conn.Write(out)
	return err
}
