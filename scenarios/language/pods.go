package language

import "github.com/netlab/netlab/topology"

func (l *loader) evalPods() {
	for b := range l.Objects("pod") {
		s := topology.PodSpec{Block: b.Label, Key: b.Key, Index: b.Index, Origin: b.Origin()}
		c := l.Read(b, l.podTable(&s))
		s.Ports, s.Link = l.ports("pod", c), l.link(c)
		l.program(c, &s.Program)
		l.dnsConfig(c, &s.DNSConfig)
		l.spec.Pods = append(l.spec.Pods, s)
		i := len(l.spec.Pods) - 1
		l.then(func() { l.spec.Pods[i] = s })
	}
}
