// Package kubernetes is the border to manifests, the YAML or JSON of Kubernetes objects: Read
// takes a file apart, strictly, with the line of everything that is wrong; Lab makes of objects
// what the language makes of blocks; Manifests writes a lab as objects.
//
// It has structs of its own: those of k8s.io/api know no lines, and would add 8 MB to the
// program and 5 ms to its start. What a kind may hold is the tags of api.go and kinds.go:
//
//	k:"name"             is read
//	_ struct{} `k:"a b"` may be there and has no effect on connections
//	_ struct{} `lost:…`  would have one, and nothing here corresponds to it (kinds.go says why)
//
// It does not know HCL, files or folders. Begin with lab.go.
package kubernetes
