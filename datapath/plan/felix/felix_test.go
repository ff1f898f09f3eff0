package felix

import (
	"testing"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// The hashes are those of a cluster: they are the same on every node of every cluster.
func TestSignaturesOfChainsThatAllClustersHave(t *testing.T) {
	jump := func(chain string) iptables.Rule { return iptables.Rule{Target: iptables.Jump{Chain: chain}} }
	outgoing := iptables.Rule{Target: iptables.Masquerade{RandomFully: true}, Matches: []iptables.Match{
		iptables.MatchSet{Set: "cali40masq-ipam-pools", Parts: "src"}, iptables.MatchSet{Set: "cali40all-ipam-pools", Parts: "dst", Not: true}}}
	for _, row := range []struct {
		chain string
		rules []iptables.Rule
		want  []string
	}{
		{"PREROUTING", []iptables.Rule{jump("cali-PREROUTING")}, []string{"6gwbT8clXdHdC1b1"}},
		{"OUTPUT", []iptables.Rule{jump("cali-OUTPUT")}, []string{"tVnHkvAo15HuiPy0"}},
		{"POSTROUTING", []iptables.Rule{jump("cali-POSTROUTING")}, []string{"O3lYWMrLQYEMJtB5"}},
		{"FORWARD", []iptables.Rule{jump("cali-FORWARD")}, []string{"wUHhoiAYhphO9Mso"}},
		{"cali-PREROUTING", []iptables.Rule{jump("cali-fip-dnat")}, []string{"r6XmIziWUJsdOK6Z"}},
		{"cali-OUTPUT", []iptables.Rule{jump("cali-fip-dnat")}, []string{"GBTAv2p5CwevEyJm"}},
		{"cali-POSTROUTING", []iptables.Rule{jump("cali-fip-snat"), jump("cali-nat-outgoing")}, []string{"Z-c7XtVd2Bq7s_hA", "nYKhEzDlr11Jccal"}},
		{"cali-nat-outgoing", []iptables.Rule{outgoing}, []string{"flqWnvo8yq4ULQLa"}},
	} {
		c := iptables.Chain{Name: row.chain, Rules: row.rules}
		Sign(&c)
		for i, want := range row.want {
			if got := c.Rules[i].Matches[0]; got != (iptables.Comment{Text: "cali:" + want}) {
				t.Errorf("%s %d: got %v, want %s", row.chain, i+1, got, want)
			}
		}
	}
}

func TestNamesAreHashedWhereTheyAreTooLong(t *testing.T) {
	for _, row := range [][3]string{
		{"cali-pi-", "default/knp.default.allow-db-access", "cali-pi-_tTE-E7yY40ogArNVgKt"},
		{"cali-pi-", "a/knp.default.b", "cali-pi-a/knp.default.b"},
		{"cali-pri-", "kns.default", "cali-pri-kns.default"},
	} {
		if got := ChainName(row[0], row[1]); got != row[2] {
			t.Errorf("got %s, want %s", got, row[2])
		}
	}
	const selector = `(projectcalico.org/namespace == "default" && (projectcalico.org/orchestrator == "k8s" && networking/allow-db-access == "true"))`
	if got := SetName(false, selector); got != "cali40s:LrVD8vMIGQDyv8Y7sPFB1Ge" {
		t.Errorf("got %s", got)
	}
}
