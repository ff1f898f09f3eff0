//go:build linux

package kernel

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan"
)

type deviationRow struct{ netns, damage, drift, command string }

// deviationRows are damages that do not touch what a plan lists, each with the finding and the
// first command that puts it right. An empty damage is another finding of the one before.
var deviationRows = []deviationRow{
	{"pod.a", "ip link set dev eth0 arp off", "link eth0: arp is off, want on", "ip -n pod.a link set dev eth0 arp on"},
	{"pod.a", "ip link set dev eth0 promisc on", "link eth0: promisc is on, want off", "ip -n pod.a link set dev eth0 promisc off"},
	{"pod.a", "ip link set dev lo mtu 100", "link lo: mtu is 100, want 65536", "ip -n pod.a link set dev lo mtu 65536"},
	{"pod.a", "ip link property add dev eth0 altname other", "link eth0: name other not in the plan", "ip -n pod.a link property del dev eth0 altname other"},
	{"pod.a", "ip link set dev eth0 broadcast 02:00:00:00:00:09", "link eth0: broadcast address is 02:00:00:00:00:09, want ff:ff:ff:ff:ff:ff", "ip -n pod.a link set dev eth0 broadcast ff:ff:ff:ff:ff:ff"},
	{"pod.a", "ip route delete 10.244.11.0/24 proto kernel", "route 10.244.11.0/24 dev eth0 src 10.244.11.2 missing", "ip -n pod.a route replace 10.244.11.0/24 dev eth0 src 10.244.11.2 proto kernel scope link"},
	{"pod.a", "ip route delete local 10.244.11.2 table local", "route local 10.244.11.2 dev eth0 table local missing", "ip -n pod.a route replace local 10.244.11.2 dev eth0 table local proto kernel scope host"},
	{"pod.a", "ip route add prohibit 10.9.0.1", "route prohibit 10.9.0.1 not in the plan", "ip -n pod.a route delete prohibit 10.9.0.1"},
	{"pod.a", "ip route add blackhole 10.9.0.0/16 table 7", "route blackhole 10.9.0.0/16 table 7 not in the plan", "ip -n pod.a route delete blackhole 10.9.0.0/16 table 7"},
	{"pod.a", "ip route add 10.9.0.2 dev eth0 metric 5", "route 10.9.0.2 dev eth0 metric 5 not in the plan", "ip -n pod.a route delete 10.9.0.2 dev eth0 metric 5"},
	{"pod.a", "ip route append blackhole default", "route blackhole default not in the plan", "ip -n pod.a route delete blackhole default"},
	{"pod.a", "ip nexthop add id 7 blackhole", "nexthop id 7 not in the plan", "ip -n pod.a nexthop delete id 7"},
	{"pod.a", "ip rule add pref 5 from 10.9.0.0/16 fwmark 0x1/0xf unreachable", "ip rule 5: from 10.9.0.0/16 fwmark 0x1/0xf unreachable not in the plan", "ip -n pod.a rule delete pref 5 from 10.9.0.0/16 fwmark 0x1/0xf unreachable"},
	{"pod.a", "ip rule delete pref 32767", "ip rule 32767: from all lookup default missing", "ip -n pod.a rule add pref 32767 lookup default protocol kernel"},
	{"pod.a", "ip -6 rule delete pref 0", "ip -6 rule 0: from all lookup local missing", "ip -n pod.a -6 rule add pref 0 lookup local protocol kernel"},
	{"pod.a", "ip neigh add 10.244.11.7 lladdr 02:00:00:00:00:09 dev eth0 nud noarp", "neigh 10.244.11.7 lladdr 02:00:00:00:00:09 dev eth0 nud noarp not in the plan", "ip -n pod.a neigh delete 10.244.11.7 dev eth0"},
	{"pod.a", "ip neigh add proxy 10.9.0.3 dev eth0", "neigh 10.9.0.3 dev eth0 proxy not in the plan", "ip -n pod.a neigh delete proxy 10.9.0.3 dev eth0"},
	{"pod.a", "sysctl -qw net.ipv4.conf.eth0.rp_filter=1", "sysctl net.ipv4.conf.eth0.rp_filter is 1, want 0", "ip netns exec pod.a sysctl -w net.ipv4.conf.eth0.rp_filter=0"},
	{"pod.a", "sysctl -qw net.ipv4.conf.all.arp_ignore=8", "sysctl net.ipv4.conf.all.arp_ignore is 8, want 0", "ip netns exec pod.a sysctl -w net.ipv4.conf.all.arp_ignore=0"},
	{"pod.a", "sysctl -qw net.ipv4.ip_default_ttl=1", "sysctl net.ipv4.ip_default_ttl is 1, want 64", "ip netns exec pod.a sysctl -w net.ipv4.ip_default_ttl=64"},
	{"pod.a", "ip xfrm policy setdefault in block", "xfrm default policy is block, want accept", "ip -n pod.a xfrm policy setdefault in accept fwd accept out accept"},
	{"pod.a", "iptables-legacy -A OUTPUT -d 10.9.0.4 -j DROP", "iptables-legacy table filter not in the plan", "ip netns exec pod.a iptables-legacy -t filter -F"},
	{"pod.a", "ip link set dev eth0 mode dormant", "link eth0: mode is 1, want default", "ip -n pod.a link set dev eth0 mode default"},
	{"pod.a", "ip link set dev eth0 gso_max_segs 1", "link eth0: gso_max_segs is 1, want 65535", "ip -n pod.a link set dev eth0 gso_max_segs 65535"},
	{"pod.a", "ip link add evil type bridge", "link evil not in the plan", "ip -n pod.a link delete dev evil"},
	{"pod.a", "ip route add multicast 239.1.1.1 dev eth0", "route multicast 239.1.1.1 dev eth0 not in the plan", "ip -n pod.a route delete multicast 239.1.1.1 dev eth0"},
	{"pod.a", "sysctl -qw net.ipv4.neigh.eth0.mcast_solicit=0", "sysctl net.ipv4.neigh.eth0.mcast_solicit is 0, want 3", "ip netns exec pod.a sysctl -w net.ipv4.neigh.eth0.mcast_solicit=3"},
	{"pod.a", "ip neigh replace 10.244.11.1 lladdr 02:99:00:00:00:03 dev eth0 nud reachable", "neighbour 10.244.11.1 dev eth0: MAC is 02:99:00:00:00:03, want that of node.n1", "ip -n pod.a neigh delete 10.244.11.1 dev eth0"},
	{"pod.a", "nft 'table bridge filter { chain INPUT { type filter hook input priority -200; drop; }; }'", "table bridge filter not in the plan", "ip netns exec pod.a nft -f - <<'EOF'"},
	{"pod.a", "nft 'table netdev filter { chain c { type filter hook ingress device \"eth0\" priority 0; drop; }; }'", "table netdev filter not in the plan", "ip netns exec pod.a nft -f - <<'EOF'"},
	{"pod.a", "ipset create odd hash:ip,port timeout 7 && ipset create of list:set && ipset add of odd", "set odd (hash:ip,port timeout 7 family inet) not in the plan", "ip netns exec pod.a ipset restore <<'EOF'"},
	{"pod.a", "", "set of (list:set family inet) not in the plan", "ip netns exec pod.a ipset restore <<'EOF'"},
	{"underlay", "bridge fdb replace 02:00:00:00:00:0b dev n2 master dynamic", "FDB entry 02:00:00:00:00:0b dev n2 leads to node.n2, want node.n1", "bridge -n underlay fdb delete 02:00:00:00:00:0b dev n2 master"},
	{"underlay", "bridge mdb add dev br0 port n1 grp 239.1.1.1 permanent", "MDB entry dev br0 port n1 grp 239.1.1.1 not in the plan", "bridge -n underlay mdb delete dev br0 port n1 grp 239.1.1.1"},
	{"underlay", "bridge link set dev n1 backup_port n2", "bridge port n1: backup_port is 102, want 0", "ip -n underlay link set dev n1 type bridge_slave backup_port 0"},
	{"underlay", "ip link set dev br0 type bridge no_linklocal_learn 1", "bridge br0: no_linklocal_learn is 1, want 0", "ip -n underlay link set dev br0 type bridge no_linklocal_learn 0"},
	{"underlay", "nft 'table arp filter { chain INPUT { type filter hook input priority 0; drop; }; }'", "table arp filter not in the plan", "ip netns exec underlay nft -f - <<'EOF'"},
	{"node.n1", "ip link set dev flannel.1 type vxlan ttl 1", "link flannel.1: ttl is 1, want 0", "ip -n node.n1 link delete dev flannel.1"},
	{"node.n1", "sysctl -qw net.netfilter.nf_conntrack_tcp_be_liberal=1", "sysctl net.netfilter.nf_conntrack_tcp_be_liberal is 1, want 0", "ip netns exec node.n1 sysctl -w net.netfilter.nf_conntrack_tcp_be_liberal=0"},
	{"node.n1", "ip address delete 127.0.0.1/8 dev lo", "address 127.0.0.1/8 dev lo missing", "ip -n node.n1 address add 127.0.0.1/8 dev lo"},
	{"node.n1", "bridge link set dev va isolated on", "bridge port va: isolated is 1, want 0", "ip -n node.n1 link set dev va type bridge_slave isolated 0"},
	{"node.n1", "bridge link set dev va learning off", "bridge port va: learning is 0, want 1", "ip -n node.n1 link set dev va type bridge_slave learning 1"},
	{"node.n1", "ip link set dev cni0 type bridge mcast_snooping 0", "bridge cni0: mcast_snooping is 0, want 1", "ip -n node.n1 link set dev cni0 type bridge mcast_snooping 1"},
	{"node.n1", "bridge fdb add 02:00:00:00:00:77 dev va master static", "FDB entry 02:00:00:00:00:77 dev va master not in the plan", "bridge -n node.n1 fdb delete 02:00:00:00:00:77 dev va master"},
	{"node.n1", "sysctl -qw net.ipv4.conf.cni0.forwarding=0", "sysctl net.ipv4.conf.cni0.forwarding is 0, want 1", "ip netns exec node.n1 sysctl -w net.ipv4.conf.cni0.forwarding=1"},
	{"node.n2", "ip link set dev flannel.1 name foo", "link foo: name is foo, want flannel.1", "ip -n node.n2 link set dev foo down && ip -n node.n2 link set dev foo name flannel.1 && ip -n node.n2 link set dev flannel.1 up"},
	{"node.n2", "ip address change 192.168.0.12/24 dev eth0 valid_lft 90 preferred_lft 80", "address 192.168.0.12/24 dev eth0 has a lifetime", "ip -n node.n2 address replace 192.168.0.12/24 dev eth0"},
	{"node.n2", "nft 'table ip filter { chain odd { type filter hook forward priority -5; drop; }; }'", "table ip filter not in the plan", "ip netns exec node.n2 nft -f - <<'EOF'"},
	{"underlay", "ip link set dev lo down", "link lo is down, want up", "ip -n underlay link set dev lo up"},
}

// What plans do not list, but the kernel looks at when it forwards a packet, is read back, named
// with the command that puts it right, and put right.
func TestDeviationsAreNamedAndPutRight(t *testing.T) { deviate(t) }

// Where bridges know VLANs, a forwarding entry is there once for each, and named once.
func TestDeviationsAreNamedOnceBesideVLANs(t *testing.T) {
	k := applied(t, small())
	ns, err := k.Namespace("node.n1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(ns, exec.Command("bridge", "vlan", "add", "vid", "7", "dev", "va")); err != nil {
		t.Skipf("this kernel lacks VLANs of bridges: %v", err)
	}
	k.Close("")
	deviate(t)
}

func deviate(t *testing.T) {
	t.Helper()
	t.Setenv("XTABLES_LOCKFILE", filepath.Join(t.TempDir(), "lock")) // the machine's is root's
	want := small()
	k := applied(t, want)
	var found []string
	rows := slices.Clone(deviationRows)
	if !renamesLinksThatAreUp(t, k) {
		rows = slices.DeleteFunc(rows, func(r deviationRow) bool { return strings.HasSuffix(r.damage, " name foo") })
	}
	for _, row := range rows {
		ns, err := k.Namespace(row.netns)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(ns, exec.Command("sh", "-ec", row.damage)); err != nil {
			t.Fatalf("%s: %v", row.damage, err)
		}
		found = append(found, row.netns+": "+row.drift)
	}
	have, err := k.Read(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	drift := plan.Drift(have, want)
	slices.Sort(drift)
	slices.Sort(found)
	if !slices.Equal(drift, found) {
		t.Errorf("drift:\n%s\nwant:\n%s", strings.Join(drift, "\n"), strings.Join(found, "\n"))
	}
	changes, err := k.Apply(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	lines := changes.Lines()
	for _, row := range rows {
		if !slices.Contains(lines, row.command) {
			t.Errorf("%s: no command %q", row.drift, row.command)
		}
	}
	if t.Failed() {
		t.Log(strings.Join(lines, "\n"))
	}
	asPlanned(t, k, want)
}

// renamesLinksThatAreUp tries it: kernels before Linux 6.2 do not.
func renamesLinksThatAreUp(t *testing.T, k *Kernel) bool {
	t.Helper()
	ns, err := k.Namespace("node.n1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = run(ns, exec.Command("sh", "-ec", "ip link set dev va name try && ip link set dev try name va"))
	return err == nil
}
