package blocks

import "strings"

// foreign has the names of blocks and attributes of Terraform and Kubernetes that mean something
// else here, or nothing: what to do instead, in one sentence. What is only spelled
// differently is in topology.Nearest.
var foreign = map[string]string{
	"terraform": `Write netlab { required_version = "…" }, or remove it.`,
	"resource":  `Write the object as a block of its kind: node "n" { … }.`,
	"provider":  "There are no providers; remove it.",
	"module":    `Put the files of one lab into a folder named NAME.lab.`,
	"data":      "Refer to what the file declares, or read a file with file(…) or yamldecode(…).",
	"output":    "Claim it in an expect block; netlab inspect shows addresses.",
	"resources": "Write each object as a block of its kind.",

	"depends_on": "The order of blocks does not matter; remove it.",
	"lifecycle":  "What a change touches follows from the difference; remove it.",

	"apiVersion": "Remove it; the name of the block says the kind.",
	"kind":       "Remove it; the name of the block says the kind.",
	"metadata":   "Write name, namespace and labels directly into the block.",
	"spec":       "Write what is in it directly into the block.",
	"template":   "Write a pod block with count.",
	"container":  `Write the port blocks and the command directly into the pod.`,

	"deployment":  `Write pod "NAME" { count = 3 … }.`,
	"statefulset": `Write pod "NAME" { count = 3 … }.`,
	"replicaset":  `Write pod "NAME" { count = 3 … }.`,
	"daemonset":   `Write pod "NAME" { for_each = node … } with node = each.value.`,
	"endpoints":   "Write endpoint blocks in a service without selector.",

	"networkpolicy":        `Write policy "NAME" { … }.`,
	"clusternetworkpolicy": `Write cluster_policy "NAME" { … }.`,
	"adminnetworkpolicy":   `Write cluster_policy "NAME" { tier = "Admin" … }.`,
	"image":                "Only pods run images; what else answers on ports does so by itself.",
	"containerport":        `Write port "http" { port = 80 }.`,
}

// elsewhere says what to do about a name of another language; "": it is none.
func elsewhere(name string) string {
	plain := strings.ReplaceAll(name, "_", "")
	for _, n := range []string{name, strings.ToLower(plain), strings.TrimSuffix(plain, "s")} {
		if text := foreign[n]; text != "" {
			return " " + text
		}
	}
	return ""
}
