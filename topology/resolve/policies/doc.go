// Package policies resolves network policies and cluster policies: which pods and addresses
// their selectors mean, and the ports of their rules. Checks are those of the Kubernetes API.
//
// Pods are resolved before it. What the policies together allow is decided in
// topology/meaning. Start reading at policies.go.
package policies
