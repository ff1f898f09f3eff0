// Package kubeapi serves the objects of a cluster as a server of the Kubernetes API does, read
// only: enough for kubectl, kube-proxy and kube-router.
//
// It gets objects as lines of JSON (Set) and owns what a server adds: resource versions, the
// times at which objects were made, watches, selectors, tables, discovery. Nothing is decoded
// until somebody asks. What objects mean, and of what they were made, is not its business; nor
// are sockets: it is an http.Handler (ServeHTTP), and Server makes one of net/http that bounds
// what clients can take.
//
// Begin with handler.go. store.go holds objects and their changes, resources.go lists the kinds,
// columns.go what kubectl get shows of them.
package kubeapi
