package topology

import "strings"

// Workload is the object of Kubernetes that a pod was made for. It has no effect on connections:
// a lab keeps it for those who look at the lab through the Kubernetes API, and for exports. The
// zero Workload is none.
type Workload struct{ Kind, Name string }

// The kinds of workloads.
const (
	Deployment  = "Deployment"
	ReplicaSet  = "ReplicaSet"
	StatefulSet = "StatefulSet"
	DaemonSet   = "DaemonSet"
	Job         = "Job"
)

// Workloads are the kinds of workloads.
var Workloads = []string{Deployment, ReplicaSet, StatefulSet, DaemonSet, Job}

// WorkloadOf is that of a pod; where no name is written, it has the name of the pod's block.
func (p PodSpec) WorkloadOf() Workload {
	kind, name, named := strings.Cut(p.Workload.Value, "/")
	if !named && kind != "" {
		name = p.Block
	}
	return Workload{kind, name}
}
