package names

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netlab/netlab/topology"
)

// Hosts lists the names of a lab in the format of /etc/hosts, for the programs that
// run in it. Names resolve as in expectations for a dialer outside all namespaces: of
// several objects with one name, the service takes precedence over the pod, the node,
// the client and the router.
func Hosts(lab *topology.Lab) []byte {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	taken := map[string]bool{}
	write := func(addrs []netip.Addr, names ...string) {
		var free []string
		for _, n := range names {
			if !taken[n] && len(addrs) > 0 {
				free, taken[n] = append(free, n), true
			}
		}
		for _, a := range addrs {
			if len(free) > 0 {
				fmt.Fprintf(&b, "%s %s\n", a, strings.Join(free, " "))
			}
		}
	}
	p := New(lab)
	// Where names are served, nodes and clients do not know them: they do not ask there.
	services, pods := lab.Services, lab.Pods
	if lab.DNS != nil {
		services, pods = nil, nil
	}
	for _, s := range services {
		qualified := s.Name + "." + s.Namespace
		names := []string{qualified + ".svc." + lab.Domain(), qualified + ".svc", qualified}
		if s.Namespace == topology.DefaultNamespace {
			names = append(names, s.Name)
		}
		addrs := s.ClusterIPs
		if len(addrs) == 0 {
			at, _ := p.Listener(s)
			addrs = at.Addrs
		}
		write(addrs, names...)
	}
	for _, pod := range pods {
		if pod.HostNetwork || !lab.Network.Mode.SharedCIDR { // else its address is another pod's on another node
			write(pod.Addrs, hostOf(pod.Name, pod.Namespace))
		}
	}
	for _, n := range lab.Nodes {
		write(n.Addrs, n.Name)
	}
	for _, c := range lab.Clients {
		write(c.Addrs, c.Name)
	}
	for _, r := range lab.Routers {
		write(r.Addrs(), r.Name)
	}
	addrs, _ := lab.IngressAddrs()
	for _, host := range lab.IngressHosts() {
		write(addrs, host)
	}
	return []byte(b.String())
}
