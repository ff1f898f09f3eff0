package plan

import (
	"encoding/hex"
	"fmt"
	"net/netip"
)

// XfrmState is a security association of IPsec: ESP in tunnel mode, in one direction, with
// AES-GCM (RFC 4106).
type XfrmState struct {
	Src    netip.Addr `json:"src"`
	Dst    netip.Addr `json:"dst"`
	SPI    uint32     `json:"spi"`
	Key    ESPKey     `json:"key"`
	Origin Origin     `json:"origin,omitzero"`
}

// ESPKey is a key of AES-128-GCM and the salt after it.
type ESPKey [20]byte

// String is the key as ip xfrm writes it.
func (k ESPKey) String() string { return "0x" + hex.EncodeToString(k[:]) }

// MarshalText returns the key as String does.
func (k ESPKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// XfrmPolicy says which packets go through a tunnel from one end to the other, or must have
// come through it.
type XfrmPolicy struct {
	Dir    XfrmDir      `json:"dir"`
	From   netip.Prefix `json:"from"`
	To     netip.Prefix `json:"to"`
	Src    netip.Addr   `json:"src"` // of the tunnel
	Dst    netip.Addr   `json:"dst"`
	Origin Origin       `json:"origin,omitzero"`
}

// XfrmDir is a direction of packets, as ip xfrm names it.
type XfrmDir string

// The directions of packets: those that leave, those to the host itself, and those that it
// forwards.
const (
	XfrmOut XfrmDir = "out"
	XfrmIn  XfrmDir = "in"
	XfrmFwd XfrmDir = "fwd"
)

// Covers reports whether the policy is for packets between two addresses.
func (p *XfrmPolicy) Covers(src, dst netip.Addr) bool {
	return p.From.Contains(src) && p.To.Contains(dst)
}

type xfrmStateID struct {
	dst netip.Addr
	spi uint32
}

func xfrmStateKey(s XfrmState) xfrmStateID { return xfrmStateID{s.Dst, s.SPI} }

func sameXfrmState(a, b XfrmState) bool { return a.Src == b.Src && a.Key == b.Key }

type xfrmPolicyID struct {
	dir      XfrmDir
	from, to netip.Prefix
}

func xfrmPolicyKey(p XfrmPolicy) xfrmPolicyID { return xfrmPolicyID{p.Dir, p.From, p.To} }

func sameXfrmPolicy(a, b XfrmPolicy) bool { return a.Src == b.Src && a.Dst == b.Dst }

// words names the association without its key.
func (s *XfrmState) words() string {
	return fmt.Sprintf("src %s dst %s proto esp spi %#08x", s.Src, s.Dst, s.SPI)
}

func (s *XfrmState) write(w *textWriter, step *Step) {
	if step.Verb != Add {
		w.linef("ip -n %s xfrm state delete %s", w.netns, s.words())
	}
	if step.Verb == Delete {
		return
	}
	w.from(s.Origin)
	w.linef("ip -n %s xfrm state add %s mode tunnel replay-window 32 aead 'rfc4106(gcm(aes))' %s 128", w.netns, s.words(), s.Key)
}

func (p *XfrmPolicy) selector() string {
	return fmt.Sprintf("src %s dst %s dir %s", p.From, p.To, p.Dir)
}

func (p *XfrmPolicy) words() string {
	return fmt.Sprintf("%s tmpl src %s dst %s proto esp mode tunnel", p.selector(), p.Src, p.Dst)
}

func (p *XfrmPolicy) write(w *textWriter, s *Step) {
	if s.Verb == Delete {
		w.linef("ip -n %s xfrm policy delete %s", w.netns, p.selector())
		return
	}
	w.from(p.Origin)
	w.linef("ip -n %s xfrm policy %s %s", w.netns, map[Verb]string{Add: "add", Change: "update"}[s.Verb], p.words())
}
