package iptables

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/netlab/netlab/topology"
)

// inLayout lays out the rules as a version did.
func inLayout(version string) func(*topology.Lab) {
	return func(l *topology.Lab) { l.Proxy.Layout = version }
}

// The names are those of articles about older versions.
func TestUnnamedPortsOnceHadAColon(t *testing.T) {
	for name, want := range map[string]string{"default/nginx:": "KUBE-SVC-4N57TFCL4MD7ZTDA", "default/hostnames:": "KUBE-SVC-NWV5X2332I4OT4T3"} {
		if got := namesOf(name, topology.TCP).svc; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	svc := port80("default", "nginx", "172.30.0.41", func(s *topology.Service) { s.Ports[0].Name = "" }, "10.180.0.1@here")
	if rendered(compiled(t, testNode(inLayout("1.14"), svc)), "nat", false)["KUBE-SVC-4N57TFCL4MD7ZTDA"] == nil {
		t.Error("the unnamed port does not end in a colon")
	}
}

func TestLayoutOf1_19(t *testing.T) {
	compareChains(t, compiled(t, testNode(inLayout("1.19"), overall()...)), `
KUBE-SERVICES
  -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j KUBE-SVC-XPGD46QRK7WJZT7O
  -m comment --comment "ns2/svc2:p80 cluster IP" -m tcp -p tcp -d 172.30.0.42 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns2/svc2:p80 cluster IP" -m tcp -p tcp -d 172.30.0.42 --dport 80 -j KUBE-SVC-GNZBNJ2PO5MGZ6GT
  -m comment --comment "ns2/svc2:p80 external IP" -m tcp -p tcp -d 192.168.99.22 --dport 80 -j KUBE-XLB-GNZBNJ2PO5MGZ6GT
  -m comment --comment "ns2/svc2:p80 loadbalancer IP" -m tcp -p tcp -d 1.2.3.4 --dport 80 -j KUBE-FW-GNZBNJ2PO5MGZ6GT
  -m comment --comment "ns3/svc3:p80 cluster IP" -m tcp -p tcp -d 172.30.0.43 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns3/svc3:p80 cluster IP" -m tcp -p tcp -d 172.30.0.43 --dport 80 -j KUBE-SVC-X27LE4BHSL4DOUIK
  -m comment --comment "ns4/svc4:p80 cluster IP" -m tcp -p tcp -d 172.30.0.44 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns4/svc4:p80 cluster IP" -m tcp -p tcp -d 172.30.0.44 --dport 80 -j KUBE-SVC-4SW47YFZTEDKD3PK
  -m comment --comment "ns4/svc4:p80 external IP" -m tcp -p tcp -d 192.168.99.33 --dport 80 -j KUBE-MARK-MASQ
  -m comment --comment "ns4/svc4:p80 external IP" -m tcp -p tcp -d 192.168.99.33 --dport 80 -j KUBE-SVC-4SW47YFZTEDKD3PK
  -m comment --comment "ns5/svc5:p80 cluster IP" -m tcp -p tcp -d 172.30.0.45 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "ns5/svc5:p80 cluster IP" -m tcp -p tcp -d 172.30.0.45 --dport 80 -j KUBE-SVC-NUKIZ6OKUXPJNT4C
  -m comment --comment "ns5/svc5:p80 loadbalancer IP" -m tcp -p tcp -d 5.6.7.8 --dport 80 -j KUBE-FW-NUKIZ6OKUXPJNT4C
  -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
KUBE-NODEPORTS
  -m comment --comment ns2/svc2:p80 -m tcp -p tcp --dport 3001 -s 127.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment ns2/svc2:p80 -m tcp -p tcp --dport 3001 -j KUBE-XLB-GNZBNJ2PO5MGZ6GT
  -m comment --comment ns3/svc3:p80 -m tcp -p tcp --dport 3003 -j KUBE-MARK-MASQ
  -m comment --comment ns3/svc3:p80 -m tcp -p tcp --dport 3003 -j KUBE-SVC-X27LE4BHSL4DOUIK
  -m comment --comment ns5/svc5:p80 -m tcp -p tcp --dport 3002 -j KUBE-MARK-MASQ
  -m comment --comment ns5/svc5:p80 -m tcp -p tcp --dport 3002 -j KUBE-SVC-NUKIZ6OKUXPJNT4C
KUBE-XLB-GNZBNJ2PO5MGZ6GT
  -m comment --comment "Redirect pods trying to reach external loadbalancer VIP to clusterIP" -s 10.0.0.0/8 -j KUBE-SVC-…
  -m comment --comment "masquerade LOCAL traffic for ns2/svc2:p80 LB IP" -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ
  -m comment --comment "route LOCAL traffic for ns2/svc2:p80 LB IP to service chain" -m addrtype --src-type LOCAL -j KUBE-SVC-…
  -m comment --comment "ns2/svc2:p80 has no local endpoints" -j KUBE-MARK-DROP
KUBE-FW-GNZBNJ2PO5MGZ6GT
  -m comment --comment "ns2/svc2:p80 loadbalancer IP" -j KUBE-XLB-…
  -m comment --comment "ns2/svc2:p80 loadbalancer IP" -j KUBE-MARK-DROP
KUBE-FW-NUKIZ6OKUXPJNT4C
  -m comment --comment "ns5/svc5:p80 loadbalancer IP" -j KUBE-MARK-MASQ
  -m comment --comment "ns5/svc5:p80 loadbalancer IP" -s 203.0.113.0/25 -j KUBE-SVC-…
  -m comment --comment "ns5/svc5:p80 loadbalancer IP" -j KUBE-MARK-DROP
KUBE-SVC-4SW47YFZTEDKD3PK
  -m comment --comment ns4/svc4:p80 -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP-UKSFD7AGPMPPLUHC
  -m comment --comment ns4/svc4:p80 -j KUBE-SEP-C6EBXVWJJZMIWKLZ
KUBE-EXT-4SW47YFZTEDKD3PK
KUBE-MARK-DROP
  -j MARK --or-mark 0x8000
KUBE-POSTROUTING
  -m mark ! --mark 0x4000/0x4000 -j RETURN
  -j MARK --xor-mark 0x4000
  -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
filter KUBE-FIREWALL
  -m comment --comment "kubernetes firewall for dropping marked packets" -m mark --mark 0x8000/0x8000 -j DROP
  -m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
filter KUBE-FORWARD
  -m conntrack --ctstate INVALID -j DROP
  -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT
  -m comment --comment "kubernetes forwarding conntrack pod source rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
  -m comment --comment "kubernetes forwarding conntrack pod destination rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
filter INPUT
  -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
  -m comment --comment "kubernetes health check service ports" -j KUBE-NODEPORTS
  -m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES
  -j KUBE-FIREWALL
filter KUBE-PROXY-FIREWALL
filter KUBE-EXTERNAL-SERVICES
filter KUBE-NODEPORTS
  -m comment --comment "ns2/svc2:p80 health check node port" -m tcp -p tcp --dport 30000 -j ACCEPT
`)
}

func TestPolicyLocalOncePickedInItsOwnChain(t *testing.T) {
	svc := port80("ns1", "svc1", "172.30.0.41", func(s *topology.Service) {
		s.Type, s.Ports[0].NodePort, s.ExternalTrafficPolicy, s.AffinitySeconds = topology.NodePort, 3001, topology.PolicyLocal, 60
		s.Ports[0].Endpoints = append(s.Ports[0].Endpoints, &topology.Endpoint{Addr: netip.MustParseAddrPort("10.180.0.9:80"), Ready: true})
	}, "10.180.0.1@here", "10.180.0.2@here", "10.180.0.3@here")
	compareChains(t, compiled(t, testNode(inLayout("1.14"), svc)), `
KUBE-XLB-XPGD46QRK7WJZT7O
  -m comment --comment "Redirect pods trying to reach external loadbalancer VIP to clusterIP" -s 10.0.0.0/8 -j KUBE-SVC-…
  -m comment --comment "masquerade LOCAL traffic for ns1/svc1:p80 LB IP" -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ
  -m comment --comment "route LOCAL traffic for ns1/svc1:p80 LB IP" -m addrtype --src-type LOCAL -j KUBE-SVC-…
  -m comment --comment ns1/svc1:p80 -m recent --name KUBE-SEP-SXIVWICOYRO3J4NJ --rcheck --seconds 60 --reap -j KUBE-SEP-SXIVWICOYRO3J4NJ
  -m comment --comment ns1/svc1:p80 -m recent --name KUBE-SEP-LXVODXWDISEETFEF --rcheck --seconds 60 --reap -j KUBE-SEP-LXVODXWDISEETFEF
  -m comment --comment ns1/svc1:p80 -m recent --name KUBE-SEP-ICDUIKC33SFI6ZPR --rcheck --seconds 60 --reap -j KUBE-SEP-ICDUIKC33SFI6ZPR
  -m comment --comment "Balancing rule 0 for ns1/svc1:p80" -m statistic --mode random --probability 0.3333300000 -j KUBE-SEP-SXIVWICOYRO3J4NJ
  -m comment --comment "Balancing rule 1 for ns1/svc1:p80" -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP-LXVODXWDISEETFEF
  -m comment --comment "Balancing rule 2 for ns1/svc1:p80" -j KUBE-SEP-ICDUIKC33SFI6ZPR
`)
}

// What differs in the layouts of other ages.
func TestLayoutsByAge(t *testing.T) {
	unnamed := port80("default", "nginx", "172.30.0.41", func(s *topology.Service) { s.Ports[0].Name = "" }, "10.180.0.1@here", "10.180.0.2", "10.180.0.3")
	for version, want := range map[string]string{
		"1.26": `
KUBE-MARK-DROP
  -j MARK --or-mark 0x8000
KUBE-KUBELET-CANARY
KUBE-SVC-2CMXP7HKUVJN7L6M
  -m comment --comment "default/nginx cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "default/nginx -> 10.180.0.1:80" -m statistic --mode random --probability 0.3333333333 -j KUBE-SEP-YL7FYXDESQZPX5CC
  -m comment --comment "default/nginx -> 10.180.0.2:80" -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP-W5P27W7M44EYB6MW
  -m comment --comment "default/nginx -> 10.180.0.3:80" -j KUBE-SEP-J3N2BGOVBAWKHXBO
filter KUBE-FIREWALL
  -m comment --comment "kubernetes firewall for dropping marked packets" -m mark --mark 0x8000/0x8000 -j DROP
  -m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
`,
		"1.14": `
KUBE-PROXY-CANARY
KUBE-POSTROUTING
  -m comment --comment "kubernetes service traffic requiring SNAT" -m mark --mark 0x4000/0x4000 -j MASQUERADE
KUBE-SVC-4N57TFCL4MD7ZTDA
  -m statistic --mode random --probability 0.3333300000 -j KUBE-SEP-7SEQ6OXZ44VTB35O
  -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP-6RIW6SJITG6CIDQI
  -j KUBE-SEP-KY33Q7EJIEDVRJAH
KUBE-SERVICES
  -m comment --comment "default/nginx: cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ
  -m comment --comment "default/nginx: cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j KUBE-SVC-4N57TFCL4MD7ZTDA
  -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
filter KUBE-FORWARD
  -m conntrack --ctstate INVALID -j DROP
  -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT
  -m comment --comment "kubernetes forwarding conntrack pod source rule" -m conntrack --ctstate RELATED,ESTABLISHED -s 10.0.0.0/8 -j ACCEPT
  -m comment --comment "kubernetes forwarding conntrack pod destination rule" -m conntrack --ctstate RELATED,ESTABLISHED -d 10.0.0.0/8 -j ACCEPT
`,
		"1.1": `
KUBE-MARK-MASQ
KUBE-SERVICES
  -m comment --comment "default/nginx: cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j MARK --or-mark 0x4000
  -m comment --comment "default/nginx: cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j KUBE-SVC-4N57TFCL4MD7ZTDA
  -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
KUBE-SVC-4N57TFCL4MD7ZTDA
  -m comment --comment default/nginx: -m statistic --mode random --probability 0.3333300000 -j KUBE-SEP-7SEQ6OXZ44VTB35O
  -m comment --comment default/nginx: -m statistic --mode random --probability 0.5000000000 -j KUBE-SEP-6RIW6SJITG6CIDQI
  -m comment --comment default/nginx: -j KUBE-SEP-KY33Q7EJIEDVRJAH
`,
	} {
		t.Run(version, func(t *testing.T) { compareChains(t, compiled(t, testNode(inLayout(version), unnamed)), want) })
	}
}

// A layout's old name means the same.
func TestLegacyIs1_14(t *testing.T) {
	var texts []string
	for _, name := range []string{"legacy", "1.14"} {
		texts = append(texts, fmt.Sprint(rendered(compiled(t, testNode(inLayout(name), overall()...)), "nat", false)))
	}
	if texts[0] != texts[1] {
		t.Error("legacy and 1.14 differ")
	}
}
