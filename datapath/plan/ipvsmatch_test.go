package plan

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// The match needs xt_ipvs, which few kernels have: it is not in ruleRows, whose rules
// are tested against the kernel.
func TestRulesMatchByVirtualServer(t *testing.T) {
	vip := netip.MustParseAddr("203.0.113.1")
	rule := iptables.Rule{Matches: []iptables.Match{iptables.Src{Prefix: netip.PrefixFrom(vip, 32)}, iptables.IPVS{Addr: vip, Proto: "tcp", Port: 80}}, Target: iptables.Drop{}}
	if got, want := rule.Restore("X"), "-A X -s 203.0.113.1 -m ipvs --vproto tcp --vaddr 203.0.113.1 --vport 80 -j DROP"; got != want {
		t.Errorf("Restore\n got %s\nwant %s", got, want)
	}
	if got, want := rule.Save(), "-s 203.0.113.1/32 -m ipvs --vproto 6 --vaddr 203.0.113.1 --vport 80 -j DROP"; got != want {
		t.Errorf("Save\n got %s\nwant %s", got, want)
	}
	p := &Plan{Netns: []Netns{{Tables: []iptables.Table{{Name: "filter", Chains: []iptables.Chain{{Name: "X", Rules: []iptables.Rule{rule}}}}}}}}
	encoded, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(string(encoded)); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}
