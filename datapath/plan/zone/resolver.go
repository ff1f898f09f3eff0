package zone

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Resolver is what resolv.conf tells the resolver of a host (resolv.conf(5)).
type Resolver struct {
	Servers []netip.Addr
	Search  []string
	Options []Option
}

// Option is an option of a resolver: ndots:5, or rotate, which has no value.
type Option struct{ Name, Value string }

// Text is the resolver as /etc/resolv.conf has it.
func (r Resolver) Text() string {
	var b strings.Builder
	if len(r.Search) > 0 {
		fmt.Fprintf(&b, "search %s\n", strings.Join(r.Search, " "))
	}
	for _, s := range r.Servers {
		fmt.Fprintf(&b, "nameserver %s\n", s)
	}
	if len(r.Options) > 0 {
		b.WriteString("options")
		for _, o := range r.Options {
			b.WriteString(" " + o.String())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (o Option) String() string {
	if o.Value == "" {
		return o.Name
	}
	return o.Name + ":" + o.Value
}

// ndots is how many dots a name must have to be tried as it is first: 1 without the option,
// 15 at most.
func (r Resolver) ndots() int {
	n := 1
	for _, o := range r.Options {
		if v, err := strconv.Atoi(o.Value); err == nil && o.Name == "ndots" {
			n = min(max(v, 0), 15)
		}
	}
	return n
}

// Candidates are the names for which a resolver asks, in this order, until one has an
// address: with few dots first those of the search path. One that ends in a dot stands for
// itself.
func (r Resolver) Candidates(name string) (list []string) {
	name = strings.ToLower(name)
	if full, ok := strings.CutSuffix(name, "."); ok {
		return []string{full}
	}
	for _, domain := range r.Search {
		list = append(list, strings.TrimSuffix(name+"."+strings.Trim(domain, "."), "."))
	}
	if strings.Count(name, ".") >= r.ndots() {
		return append([]string{name}, list...)
	}
	return append(list, name)
}
