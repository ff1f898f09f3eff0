package plan

import (
	"bytes"
	"net/netip"
	"reflect"
	"testing"
)

// The match needs xt_ipvs, which few kernels have: it is no row of ruleRows, whose
// rules the kernel is asked about.
func TestRulesMatchByVirtualServer(t *testing.T) {
	vip := netip.MustParseAddr("203.0.113.1")
	rule := Rule{Matches: []Match{Src{Prefix: netip.PrefixFrom(vip, 32)}, IPVS{vip, "tcp", 80}}, Target: Drop{}}
	if got, want := rule.Restore("X"), "-A X -s 203.0.113.1 -m ipvs --vproto tcp --vaddr 203.0.113.1 --vport 80 -j DROP"; got != want {
		t.Errorf("Restore\n got %s\nwant %s", got, want)
	}
	if got, want := rule.Save(), "-s 203.0.113.1/32 -m ipvs --vproto 6 --vaddr 203.0.113.1 --vport 80 -j DROP"; got != want {
		t.Errorf("Save\n got %s\nwant %s", got, want)
	}
	p := &Plan{Netns: []Netns{{Tables: []Table{{Name: "filter", Chains: []Chain{{Name: "X", Rules: []Rule{rule}}}}}}}}
	var buf bytes.Buffer
	if err := Encode(&buf, p); err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(&buf); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}
