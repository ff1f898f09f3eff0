package occupant

import (
	"strings"

	"github.com/netlab/netlab/datapath/plan/coder"
	"github.com/netlab/netlab/datapath/plan/origin"
)

// Resolver is what programs of a pod find in /etc/resolv.conf, and in /etc/hosts, which is asked
// before name servers are.
type Resolver struct {
	Pod    string     `json:"pod"`   // as agents and programs are named
	Conf   string     `json:"conf"`  // the file
	Hosts  string     `json:"hosts"` // what they find in /etc/hosts
	Origin origin.Ref `json:"origin,omitzero"`
}

// Equal reports whether two resolvers of a pod differ in nothing but their origin.
func (r Resolver) Equal(b Resolver) bool { return r.Conf == b.Conf && r.Hosts == b.Hosts }

// Words describes the resolver, for plans and findings.
func (r *Resolver) Words() string {
	return r.Pod + ": " + strings.Join(strings.Split(strings.TrimSuffix(r.Conf, "\n"), "\n"), "; ")
}

// CodeResolver reads or writes a resolver.
func CodeResolver(c *coder.Coder, r *Resolver) {
	c.Origin(&r.Origin)
	coder.String(c, &r.Pod)
	coder.String(c, &r.Conf)
	coder.String(c, &r.Hosts)
}
