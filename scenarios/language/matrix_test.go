package language

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
)

const varied = `
matrix {
  network = ["vxlan", "host-gw"]
  proxy   = ["iptables", "none"]
}
network {
  mode = "vxlan"
  vxlan { vni = 7 }
}
node "a" {}
client "laptop" {}
`

func loadVaried(t *testing.T, v Variation) *Scenario {
	t.Helper()
	s, diags := Load("-", Options{Catalogue: datapath.Catalogue(), Stdin: strings.NewReader(varied), Variation: v})
	if diags.HasErrors() {
		t.Fatalf("%s: %s", v, diags.JSON())
	}
	return s
}

func TestVariationsAreAllCombinations(t *testing.T) {
	s := loadVaried(t, nil)
	var names []string
	for _, v := range Variations(s.Matrix) {
		got := loadVaried(t, v).Lab
		names = append(names, v.String())
		if built := fmt.Sprintf("network=%s proxy=%s", got.Network.Mode.Name, got.Proxy.Mode.Name); built != v.String() {
			t.Errorf("%s built a lab with %s", v, built)
		}
	}
	want := "network=vxlan proxy=iptables; network=vxlan proxy=none; network=host-gw proxy=iptables; network=host-gw proxy=none"
	if got := strings.Join(names, "; "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWithoutVariationTheFileDecides(t *testing.T) {
	if got := loadVaried(t, nil).Lab; got.Network.Mode.Name != "vxlan" || got.Proxy.Mode.Name != "iptables" {
		t.Errorf("got %s and %s", got.Network.Mode.Name, got.Proxy.Mode.Name)
	}
}

func TestVariedFamiliesKeepWrittenPrefixes(t *testing.T) {
	for families, want := range map[string]string{
		"ipv4": "[10.1.0.0/16] [10.96.0.0/16] 1",
		"ipv6": "[fd00:10:244::/56] [fd00:10:96::/112] 1",
		"dual": "[10.1.0.0/16 fd00:10:244::/56] [10.96.0.0/16 fd00:10:96::/112] 2",
	} {
		s, diags := Load("-", Options{Catalogue: datapath.Catalogue(), Stdin: strings.NewReader(`network { pod_cidr = "10.1.0.0/16" }` + "\nnode \"a\" {}"),
			Variation: Variation{{"ip_families", families}}})
		if diags.HasErrors() {
			t.Fatalf("%s: %s", families, diags.JSON())
		}
		n := s.Lab.Network
		if got := fmt.Sprint(n.PodCIDRs, n.ServiceCIDRs, len(s.Lab.Nodes[0].Addrs)); got != want {
			t.Errorf("%s: got %s, want %s", families, got, want)
		}
	}
}

func TestAxesOfTheCommandLine(t *testing.T) {
	for text, wrong := range map[string]bool{
		"proxy=iptables,ipvs": false, "network=host-gw": false, "policies=calico": false, "ip_families=dual,ipv6": false,
		"proxy": true, "proxy=": true, "proxy=iptables,": true, "proxy=iptables,iptables": true, "proxies=ipvs": true, "network=ipvs": true,
	} {
		catalogue := datapath.Catalogue()
		if _, err := ParseAxis(text, &catalogue); (err != nil) != wrong {
			t.Errorf("%s: error %v", text, err)
		}
	}
}
