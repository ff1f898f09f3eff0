package draft

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/netlab/netlab/topology"
)

// CheckName reports a name that is not a DNS label (RFC 1123), as Kubernetes
// requires for parts of a host name.
func (d *Draft) CheckName(kind, name string, origin topology.Origin) {
	if dnsLabel.MatchString(name) {
		return
	}
	fix := "choose another name"
	if s := dnsLabelFrom(name); s != "" {
		fix = fmt.Sprintf("use %q", s)
	}
	d.Errorf(At(origin), "Invalid name",
		"The %s name %q is not a DNS label: up to 63 of a-z, 0-9 and \"-\", beginning and ending with a letter or digit. To fix it, %s.",
		kind, Shorten(name), fix)
}

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// IsDNSSubdomain reports a name of several labels (RFC 1123), which may end in a dot.
func IsDNSSubdomain(s string) bool {
	s = strings.TrimSuffix(s, ".")
	for label := range strings.SplitSeq(s, ".") {
		if !dnsLabel.MatchString(label) {
			return false
		}
	}
	return len(s) <= 253
}

// IsLabelRune reports whether a DNS label can have a character.
func IsLabelRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-'
}

// dnsLabelFrom makes a DNS label of a name, or "" where too little is left.
func dnsLabelFrom(s string) string {
	out := strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case IsLabelRune(c):
			return c
		case c == '_' || c == '.' || c == ' ' || c == '/':
			return '-'
		default:
			return -1
		}
	}, strings.ToLower(s)), "-")
	if len(out) > 63 {
		out = strings.Trim(out[:63], "-")
	}
	return out
}

// Shorten keeps a message readable when a name is not.
func Shorten(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:80], "") + "…"
}

// Unique reports a second object of the same kind and name.
func (d *Draft) Unique(seen map[string]topology.Origin, kind, name string, origin topology.Origin) bool {
	if first, ok := seen[name]; ok {
		d.Errorf(At(origin), "Duplicate "+kind,
			"The %s %q was already declared %s. Rename or remove one of them.", kind, Shorten(name), first.SeenFrom(origin))
		return false
	}
	seen[name] = origin
	return true
}
