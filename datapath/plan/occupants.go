package plan

import (
	"strings"

	"github.com/netlab/netlab/datapath/plan/bgp"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/plan/zone"
)

// Occupants are the agents, programs, user-space tunnels, BGP speakers, proxy ports, DNS
// records, resolvers, files and HTTP routes of a namespace. Changed ones are stopped and started again, except for tunnels of which only the
// peers change, speakers, whose sessions go on with peers that stay, proxy ports, the records
// of name servers, the files of pods, and the routes of ingress controllers.
type Occupants struct {
	IPv6     bool // agents also listen on IPv6
	Agents   []occupant.Agent
	Execs    []occupant.Exec
	Tunnels  []occupant.Tunnel
	Speakers []bgp.Speaker

	ProxyPorts []occupant.ProxyPort
	Records    []zone.Record
	Resolvers  []occupant.Resolver
	Files      []occupant.PodFiles
	Routing    []httproute.Route
}

// Agents and programs are not shell commands, so they are written as comments.
func (o *Occupants) write(w *textWriter, s *Step) {
	mark := [...]string{Add: "#", Change: "# change", Delete: "# remove"}[s.Verb]
	for _, a := range o.Agents {
		w.from(a.Origin)
		w.linef("%s agent %s", mark, a.Words())
	}
	for _, x := range o.Execs {
		w.from(x.Origin)
		w.linef("%s exec %s", mark, x.Words())
	}
	for i := range o.Tunnels {
		writeTunnel(&o.Tunnels[i], w, mark, s.Verb)
	}
	for i := range o.Speakers {
		writeSpeaker(&o.Speakers[i], w, mark, s.Verb)
	}
	for i := range o.ProxyPorts {
		w.from(o.ProxyPorts[i].Origin)
		w.linef("%s proxy port %s", mark, o.ProxyPorts[i].Words())
	}
	for i := range o.Records {
		w.from(o.Records[i].Origin)
		w.linef("%s DNS record %s", mark, o.Records[i])
	}
	for i := range o.Resolvers {
		w.from(o.Resolvers[i].Origin)
		w.linef("%s resolver of %s", mark, o.Resolvers[i].Words())
	}
	for i := range o.Files {
		w.from(o.Files[i].Origin)
		w.linef("%s files of pod %s", mark, o.Files[i].Words())
	}
	for i := range o.Routing {
		w.from(o.Routing[i].Origin)
		w.linef("%s HTTP route %s", mark, o.Routing[i].Words())
	}
}

// writeTunnel writes a tunnel as comments, since a program is not a shell command; that of a
// WireGuard device as commands.
func writeTunnel(t *occupant.Tunnel, w *textWriter, mark string, verb Verb) {
	if t.WireGuard() {
		writeWireGuard(t, w, verb)
		return
	}
	w.from(t.Origin)
	w.linef("%s tunnel %s", mark, t.Words())
	if verb == Delete {
		return
	}
	for i := range t.Peers {
		w.from(t.Peers[i].Origin)
		w.linef("%s tunnel %s: %s to %s", mark, t.Link, t.Peers[i].Pods, t.Peers[i].Node)
	}
}

// writeWireGuard writes the configuration of a WireGuard device. Peers that stay as they
// are keep their sessions. A device without a key neither sends nor understands anything.
func writeWireGuard(t *occupant.Tunnel, w *textWriter, verb Verb) {
	if verb == Delete {
		w.linef("ip netns exec %s wg set %s private-key /dev/null", w.netns, t.Link)
		return
	}
	w.feed("ip netns exec %s wg syncconf "+t.Link+" /dev/stdin <<'EOF'", func() {
		w.from(t.Origin)
		w.linef("[Interface]\nPrivateKey = %s\nListenPort = %d", t.Key, t.At.Port())
		for _, p := range t.WireGuardPeers() {
			w.from(p.Origin)
			var pods []string
			for _, prefix := range p.Pods {
				pods = append(pods, prefix.String())
			}
			w.linef("[Peer]\nPublicKey = %s\nEndpoint = %s\nAllowedIPs = %s", p.Key, p.Node, strings.Join(pods, ", "))
			if p.Keepalive > 0 {
				w.linef("PersistentKeepalive = %d", p.Keepalive)
			}
		}
	})
}

// writeSpeaker writes a speaker as comments: it is not a shell command.
func writeSpeaker(s *bgp.Speaker, w *textWriter, mark string, verb Verb) {
	w.from(s.Origin)
	w.linef("%s bgp speaker: %s", mark, s.Words())
	if verb == Delete {
		return
	}
	for _, prefix := range s.Announces {
		w.linef("%s bgp announces %s", mark, prefix)
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		w.from(p.Origin)
		down := ""
		if p.Down {
			down = ": cannot be established"
		}
		w.linef("%s bgp session with %s%s", mark, p.Words(), down)
	}
}
