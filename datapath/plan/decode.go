package plan

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
)

// decoder reads what encoder wrote. After an error all reads yield zero values.
type decoder struct {
	b    []byte
	all  string // the whole input: texts are parts of it, and cost nothing
	text string // of the last comment
	last Origin // of the last rule
	err  error
}

func (d *decoder) fail() {
	d.b, d.err = nil, errBroken
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

// len reads the length of a list, each element of which takes at least a byte.
func (d *decoder) len() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.b) {
		d.fail()
		return nil
	}
	s := d.b[:n]
	d.b = d.b[n:]
	return s
}

func (d *decoder) byte() byte {
	if s := d.bytes(1); len(s) == 1 {
		return s[0]
	}
	return 0
}

func (d *decoder) bool() bool { return d.byte() == 1 }

func (d *decoder) string() string { return d.part(d.len()) }

// part returns the next n bytes as a text.
func (d *decoder) part(n int) string {
	start := len(d.all) - len(d.b)
	if d.bytes(n) == nil {
		return ""
	}
	return d.all[start : start+n]
}

// comment reads what encoder.comment wrote.
func (d *decoder) comment() string {
	size := d.uint()
	if size == 0 || d.err != nil {
		return d.text
	}
	if size-1 > uint64(len(d.b)) {
		d.fail()
		return ""
	}
	d.text = d.part(int(size - 1))
	return d.text
}

func (d *decoder) origin() Origin {
	if d.bool() {
		d.last = Origin{Object: d.string(), File: d.string(), Line: int(d.uint())}
	}
	return d.last
}

func (d *decoder) addr() netip.Addr {
	a, _ := netip.AddrFromSlice(d.bytes(int(d.byte())))
	return a
}

func (d *decoder) prefix() netip.Prefix {
	return netip.PrefixFrom(d.addr(), int(d.uint())-1)
}

func (d *decoder) tables() []Table {
	n := d.len()
	if n == 0 {
		return nil
	}
	list := make([]Table, n)
	for i := range list {
		t := &list[i]
		t.IPv6, t.Name = d.bool(), d.string()
		if n := d.len(); n > 0 {
			t.Chains = make([]Chain, n)
		}
		for j := range t.Chains {
			c := &t.Chains[j]
			c.Name, c.Policy = d.string(), d.string()
			if n := d.len(); n > 0 {
				c.Rules = make([]Rule, n)
			}
			for k := range c.Rules {
				c.Rules[k] = d.rule()
			}
		}
	}
	return list
}

func (d *decoder) udp() []UDPService {
	n := d.len()
	if n == 0 {
		return nil
	}
	list := make([]UDPService, n)
	for i := range list {
		list[i] = UDPService{Origin: d.origin(), To: d.addrPorts(), NodePort: uint16(d.uint()), IPv6: d.bool(), Endpoints: d.addrPorts()}
	}
	return list
}

func (d *decoder) addrPorts() []netip.AddrPort {
	n := d.len()
	if n == 0 {
		return nil
	}
	list := make([]netip.AddrPort, n)
	for i := range list {
		list[i] = d.addrPort()
	}
	return list
}

func (d *decoder) addrPort() netip.AddrPort { return netip.AddrPortFrom(d.addr(), uint16(d.uint())) }

func (d *decoder) rule() Rule {
	r := Rule{Origin: d.origin(), Raw: d.string()}
	if n := d.len(); n > 0 {
		r.Matches = make([]Match, n)
	}
	for i := range r.Matches {
		r.Matches[i] = d.match()
	}
	r.Target = d.target()
	return r
}

func (d *decoder) match() Match {
	switch tag := d.byte(); tag {
	case tagSrc:
		return Src{Prefix: d.prefix(), Not: d.bool()}
	case tagDst:
		return Dst{Prefix: d.prefix(), Not: d.bool()}
	case tagInIf:
		return InIf{Name: d.string(), Not: d.bool()}
	case tagOutIf:
		return OutIf{Name: d.string(), Not: d.bool()}
	case tagProto:
		return Proto{Name: d.string()}
	case tagDPort:
		return DPort{Port: uint16(d.uint())}
	case tagAddrType:
		return AddrType{Src: d.string(), Dst: d.string(), NotSrc: d.bool()}
	case tagPhysdevIsIn:
		return PhysdevIsIn{Not: d.bool()}
	case tagIPVS:
		return IPVS{Addr: d.addr(), Proto: d.string(), Port: uint16(d.uint())}
	case tagMatchSet:
		return MatchSet{Set: d.string(), Parts: d.string(), Not: d.bool()}
	case tagDPorts:
		return DPorts{First: uint16(d.uint()), Last: uint16(d.uint())}
	case tagMultiPort:
		return MultiPort{Ports: d.string()}
	case tagPhysdev:
		return Physdev{In: d.string(), Out: d.string(), Bridged: d.bool()}
	case tagLimit:
		return Limit{Rate: d.string(), Burst: int(d.uint())}
	case tagICMPType:
		return ICMPType{Type: uint8(d.uint()), Code: uint8(d.uint()), AnyCode: d.bool(), IPv6: d.bool()}
	case tagMark:
		return Mark{Value: uint32(d.uint()), Mask: uint32(d.uint()), Not: d.bool()}
	case tagCTState:
		return CTState{States: d.strings(), Not: d.bool()}
	case tagRandom:
		return Random{Probability: math.Float64frombits(d.uint())}
	case tagRecent:
		return Recent{List: d.string(), Set: d.bool(), Seconds: int(d.uint()), Reap: d.bool(), IPv6: d.bool()}
	case tagComment:
		return Comment{Text: d.comment()}
	default:
		d.unknown("match", tag)
		return nil
	}
}

func (d *decoder) target() Target {
	switch tag := d.byte(); tag {
	case tagNone:
		return nil
	case tagJump:
		return Jump{Chain: d.string()}
	case tagGoto:
		return Goto{Chain: d.string()}
	case tagSetMark:
		return SetMark{Value: uint32(d.uint()), Mask: uint32(d.uint())}
	case tagNFLog:
		return NFLog{Group: uint16(d.uint()), Prefix: d.string()}
	case tagReturn:
		return Return{}
	case tagAccept:
		return Accept{}
	case tagDrop:
		return Drop{}
	case tagReject:
		return Reject{With: d.string()}
	case tagDNAT:
		return DNAT{To: d.addrPort()}
	case tagMasquerade:
		return Masquerade{RandomFully: d.bool()}
	case tagOrMark:
		return OrMark{Bits: uint32(d.uint())}
	case tagXorMark:
		return XorMark{Bits: uint32(d.uint())}
	default:
		d.unknown("target", tag)
		return nil
	}
}

func (d *decoder) unknown(what string, tag byte) {
	if d.err == nil {
		d.b, d.err = nil, fmt.Errorf("%w: %s %d", errBroken, what, tag)
	}
}
