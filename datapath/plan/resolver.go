package plan

import (
	"strings"

	"github.com/netlab/netlab/datapath/plan/coder"
)

// Resolver is what programs of a pod find in /etc/resolv.conf, and in /etc/hosts, which is asked
// before name servers are.
type Resolver struct {
	Pod    string `json:"pod"`   // as agents and programs are named
	Conf   string `json:"conf"`  // the file
	Hosts  string `json:"hosts"` // what they find in /etc/hosts
	Origin Origin `json:"origin,omitzero"`
}

func sameResolver(a, b Resolver) bool { return a.Conf == b.Conf && a.Hosts == b.Hosts }

func (r *Resolver) words() string {
	return r.Pod + ": " + strings.Join(strings.Split(strings.TrimSuffix(r.Conf, "\n"), "\n"), "; ")
}

func codeResolver(c *coder.Coder, r *Resolver) {
	c.Origin(&r.Origin)
	coder.String(c, &r.Pod)
	coder.String(c, &r.Conf)
	coder.String(c, &r.Hosts)
}
