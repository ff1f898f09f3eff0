package occupant

import (
	"fmt"
	"net/netip"
)

// APIAddress is where a lab serves the Kubernetes API inside its nodes: the port of a real
// server, on loopback.
var APIAddress = netip.MustParseAddrPort("127.0.0.1:6443")

// Kubeconfig is the file that says where a server is, and who asks it (client-go,
// clientcmd/api/v1.Config).
func Kubeconfig(lab, server, ca, user string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: netlab
clusters:
- name: %[1]q
  cluster:
    server: %[2]s%[3]s
users:
- name: netlab
  user: %[4]s
contexts:
- name: netlab
  context: { cluster: %[1]q, user: netlab }
`, lab, server, ca, user)
}

// KubeconfigInside is the file for clients inside a node.
func KubeconfigInside(lab string) string {
	return Kubeconfig(lab, "http://"+APIAddress.String(), "", "{}")
}
