package plan

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

func tunnel() occupant.Tunnel {
	o := Origin{Object: "node n1", File: "a.hcl", Line: 3}
	return occupant.Tunnel{Link: "flannel0", At: netip.MustParseAddrPort("192.168.0.11:8285"), Pods: []netip.Prefix{prefix("10.244.1.0/24")}, Secret: "it's one",
		Peers: []occupant.TunnelPeer{{Pods: prefix("10.244.2.0/24"), Node: netip.MustParseAddrPort("192.168.0.12:8285"), Origin: Origin{Object: "node n2", File: "a.hcl", Line: 4}}}, Origin: o}
}

func TestChangesOfTunnels(t *testing.T) {
	with := func(list ...occupant.Tunnel) *Plan {
		return &Plan{Netns: []Netns{{Name: "node.n1", Kind: Node, Tunnels: list}}}
	}
	other, dead := tunnel(), tunnel()
	other.Peers = append(slices.Clone(other.Peers), occupant.TunnelPeer{Pods: prefix("10.244.3.0/24"), Node: netip.MustParseAddrPort("192.168.0.13:8285")})
	dead.State = "device flannel0 was deleted"
	const name = `tunnel flannel0 on udp 192.168.0.11:8285, encrypted with keys from 'it'\''s one'`
	for _, row := range []struct {
		name         string
		have, want   *Plan
		drift, lines []string
	}{
		{"none", with(tunnel()), with(tunnel()), nil, nil},
		{"new", with(), with(tunnel()), []string{"node.n1: " + name + " missing (a.hcl:3 node n1)"},
			[]string{"# a.hcl:3 node n1", "# " + name, "# a.hcl:4 node n2", "# tunnel flannel0: 10.244.2.0/24 to 192.168.0.12:8285"}},
		{"removed", with(tunnel()), with(), []string{"node.n1: " + name + " not in the plan (a.hcl:3 node n1)"},
			[]string{"# a.hcl:3 node n1", "# remove " + name}},
		{"a peer less", with(other), with(tunnel()), []string{"node.n1: " + name + " changed (a.hcl:3 node n1)"},
			[]string{"# a.hcl:3 node n1", "# change " + name, "# a.hcl:4 node n2", "# change tunnel flannel0: 10.244.2.0/24 to 192.168.0.12:8285"}},
		{"ended", with(dead), with(tunnel()), []string{"node.n1: the tunnel of flannel0 has ended: device flannel0 was deleted (a.hcl:3 node n1)"},
			[]string{"# a.hcl:3 node n1", "# change " + name, "# a.hcl:4 node n2", "# change tunnel flannel0: 10.244.2.0/24 to 192.168.0.12:8285"}},
	} {
		if got := Drift(row.have, row.want); !slices.Equal(got, row.drift) {
			t.Errorf("%s: drift\n%q\nwant\n%q", row.name, got, row.drift)
		}
		if got := Diff(row.have, row.want).Lines(); !slices.Equal(got, row.lines) {
			t.Errorf("%s: lines\n%q\nwant\n%q", row.name, got, row.lines)
		}
	}
	if needs := Requires(with(tunnel())); !slices.Contains(needs, feature.Tun) {
		t.Errorf("needs %v, not tun", needs)
	}
}

// The configuration of a WireGuard device is one command; its private key is nowhere else.
func TestChangesOfWireGuard(t *testing.T) {
	w := occupant.Tunnel{Link: "wg", At: netip.MustParseAddrPort("[::]:51820"), Key: occupant.Key{8, 31: 64}, Origin: Origin{Object: "node n1", File: "a.hcl", Line: 3},
		Peers: []occupant.TunnelPeer{{Pods: prefix("10.244.2.0/24"), Node: netip.MustParseAddrPort("192.168.0.12:51820"), Key: occupant.Key{1}},
			{Pods: prefix("10.244.3.0/24"), Node: netip.MustParseAddrPort("192.168.0.13:51820"), Key: occupant.Key{255}},
			{Pods: prefix("fd00::/64"), Node: netip.MustParseAddrPort("192.168.0.12:51820"), Key: occupant.Key{1}}}}
	other := w
	other.Peers = slices.Clone(w.Peers)
	other.Peers[2].Key = occupant.Key{2}
	with := func(list ...occupant.Tunnel) *Plan {
		return &Plan{Netns: []Netns{{Name: "node.n1", Kind: Node, Links: []Link{{Name: "wg", Type: WireGuard}}, Tunnels: list}}}
	}
	const name = "node.n1: tunnel wg on udp port 51820, with public key QiyOemIn17yhNQs+K7cnn3iXuHu2hUt4PGDoAxGuMHk="
	set := []string{"ip netns exec node.n1 wg syncconf wg /dev/stdin <<'EOF'", "# a.hcl:3 node n1", "[Interface]",
		"PrivateKey = CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=", "ListenPort = 51820",
		"[Peer]", "PublicKey = AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "Endpoint = 192.168.0.12:51820", "AllowedIPs = 10.244.2.0/24, fd00::/64",
		"[Peer]", "PublicKey = /wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "Endpoint = 192.168.0.13:51820", "AllowedIPs = 10.244.3.0/24", "PersistentKeepalive = 60", "EOF"}
	for _, row := range []struct {
		name         string
		have, want   *Plan
		drift, lines []string
	}{
		{"none", with(w), with(w), nil, nil},
		{"new", with(), with(w), []string{name + " missing (a.hcl:3 node n1)"}, set},
		{"another peer", with(other), with(w), []string{name + " changed (a.hcl:3 node n1)"}, set},
		{"removed", with(w), with(), []string{name + " not in the plan (a.hcl:3 node n1)"}, []string{"ip netns exec node.n1 wg set wg private-key /dev/null"}},
	} {
		if got := Drift(row.have, row.want); !slices.Equal(got, row.drift) {
			t.Errorf("%s: drift\n%q\nwant\n%q", row.name, got, row.drift)
		}
		if got := Diff(row.have, row.want).Lines(); !slices.Equal(got, row.lines) {
			t.Errorf("%s: lines\n%q\nwant\n%q", row.name, got, row.lines)
		}
	}
	if needs := Requires(with(w)); !slices.Contains(needs, feature.WireGuardOrTun) || slices.Contains(needs, feature.Tun) {
		t.Errorf("needs %v", needs)
	}
}
