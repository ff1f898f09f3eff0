// Package services resolves services: their families and addresses, ports, node ports and
// endpoints, and what only load balancers have. Checks and defaults are those of the
// Kubernetes API server and its controllers.
//
// Pods and nodes are resolved before it. It knows what a service promises, not how a proxy keeps it. Start
// reading at service.go.
package services
