package servicetest

import (
	"slices"
	"testing"
)

// Only what has a reason is left out, and what is in its place.
func TestDifferencesOfRulesAreExplained(t *testing.T) {
	const fw, drop = "node.n1: ip kube-proxy firewall-X-default/s1/tcp/http: ", "node.n1: ip kube-proxy cluster-ips-check: "
	for _, c := range []struct{ lines, want []string }{
		{[]string{fw + "rule missing: ip saddr != { 192.168.0.11, 192.168.0.12 } drop (a.hcl:9 service default/s1)", fw + "rule not in the plan: ip saddr != { 192.168.0.11 } drop"}, nil},
		{[]string{fw + "rule missing: ip saddr != { 10.1.0.0/16, 10.0.0.0/16 } drop", fw + "rule not in the plan: x"}, nil},
		{[]string{fw + "rule missing: ip saddr != { 192.168.0.11, 192.168.0.13 } drop"}, []string{fw + "rule missing: ip saddr != { 192.168.0.11, 192.168.0.13 } drop"}},
		{[]string{fw + "rule not in the plan: ip saddr != { 192.168.0.11 } drop"}, []string{fw + "rule not in the plan: ip saddr != { 192.168.0.11 } drop"}},
		{[]string{fw + "rule missing: ip saddr != 192.168.0.0/24 drop (a.hcl:9 service default/s1)", fw + "rule not in the plan: ip saddr != { 192.168.0.0/24 } drop"}, nil},
		{[]string{fw + "rule missing: ip saddr != 192.168.0.0/24 drop", fw + "rule not in the plan: ip saddr != { 192.168.1.0/24 } drop"}, []string{fw + "rule missing: ip saddr != 192.168.0.0/24 drop", fw + "rule not in the plan: ip saddr != { 192.168.1.0/24 } drop"}},
		{[]string{"node.n1: virtual server -t 10.96.1.1:80: real server 10.244.1.6:80 weight 3 changed (a.hcl:9 service default/s1)"}, nil},
		{[]string{"node.n1: virtual server -t 10.96.1.1:80: real server 10.244.1.6:80 weight 3 missing"}, []string{"node.n1: virtual server -t 10.96.1.1:80: real server 10.244.1.6:80 weight 3 missing"}},
		{[]string{drop + `rule missing: ip daddr 10.96.0.0/16 drop comment "Drop traffic to unallocated ClusterIPs" (proxy)`, drop + "rule missing: x"}, []string{drop + "rule missing: x"}},
	} {
		if got := Unexplained(c.lines); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.lines, got, c.want)
		}
	}
}
