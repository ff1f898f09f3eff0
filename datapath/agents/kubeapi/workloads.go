package kubeapi

import (
	"fmt"
	"strings"
	"time"
)

// The columns of workloads: printDeployment and its siblings in pkg/printers/internalversion.

var (
	deploymentColumns  = append([]column{nameColumn, share("Ready", "readyReplicas", "replicas"), count("Up-to-date", "status", "updatedReplicas"), count("Available", "status", "availableReplicas"), ageColumn}, templateColumns(true)...)
	replicaSetColumns  = append([]column{nameColumn, count("Desired", "spec", "replicas"), count("Current", "status", "replicas"), count("Ready", "status", "readyReplicas"), ageColumn}, templateColumns(true)...)
	statefulSetColumns = append([]column{nameColumn, share("Ready", "readyReplicas", "replicas"), ageColumn}, templateColumns(false)...)
	daemonSetColumns   = append([]column{nameColumn, count("Desired", "status", "desiredNumberScheduled"), count("Current", "status", "currentNumberScheduled"), count("Ready", "status", "numberReady"),
		count("Up-to-date", "status", "updatedNumberScheduled"), count("Available", "status", "numberAvailable"),
		shown("Node Selector", false, func(o map[string]any) string { return orNone(pairs(at(o, "spec", "template", "spec", "nodeSelector"))) }), ageColumn}, templateColumns(true)...)
	jobColumns = append([]column{nameColumn, shown("Status", false, func(map[string]any) string { return "Running" }), share("Completions", "succeeded", "completions"),
		{name: "Duration", cell: ageColumn.cell}, ageColumn}, templateColumns(true)...)
)

// count is a column with a number; without one, it is 0.
func count(name string, path ...string) column {
	return column{name: name, cellType: "integer", cell: func(e *entry, _ time.Time) any { return number(e.object, path...) }}
}

func number(o map[string]any, path ...string) any {
	if n := at(o, path...); n != nil {
		return n
	}
	return 0
}

// share is a column with how many of those that are wanted there are.
func share(name, have, want string) column {
	return shown(name, false, func(o map[string]any) string {
		return fmt.Sprintf("%v/%v", number(o, "status", have), number(o, "spec", want))
	})
}

// templateColumns say what the pods of a workload run, and how it selects them.
func templateColumns(selects bool) []column {
	each := func(key string) func(o map[string]any) string {
		return func(o map[string]any) string {
			var list []string
			for _, c := range each(o, "spec", "template", "spec", "containers") {
				list = append(list, text(c, key))
			}
			return strings.Join(list, ",")
		}
	}
	out := []column{shown("Containers", true, each("name")), shown("Images", true, each("image"))}
	if selects {
		out = append(out, shown("Selector", true, selectorOf("selector")))
	}
	return out
}
