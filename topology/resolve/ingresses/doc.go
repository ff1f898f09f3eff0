// Package ingresses resolves the ingresses of a lab as the Kubernetes API checks them
// (ValidateIngress in kubernetes/pkg/apis/networking/validation), and beyond that what a
// controller would only log: backends that no service has, and paths of a host that lead to two
// places. Services are resolved before.
//
// Start reading at ingresses.go.
package ingresses
