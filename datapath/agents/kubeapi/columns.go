package kubeapi

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// column is a column of kubectl get. Those with a priority are shown by -o wide only. What they
// hold is that of the printers of a real server (pkg/printers/internalversion).
type column struct {
	name     string
	wide     bool
	format   string
	cellType string // "": string
	cell     func(e *entry, now time.Time) any
}

const none = "<none>"

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

var (
	nameColumn = column{name: "Name", format: "name", cell: func(e *entry, _ time.Time) any { return e.name }}
	ageColumn  = column{name: "Age", cell: func(e *entry, now time.Time) any { return age(now.Sub(e.born)) }}
)

// field is a column with the text at a path.
func field(name string, wide bool, path ...string) column {
	return column{name: name, wide: wide, cell: func(e *entry, _ time.Time) any { return orNone(text(e.object, path...)) }}
}

// shown is a column with what a function finds in an object.
func shown(name string, wide bool, of func(object map[string]any) string) column {
	return column{name: name, wide: wide, cell: func(e *entry, _ time.Time) any { return of(e.object) }}
}

func nothing(name string) column {
	return column{name: name, wide: true, cell: func(*entry, time.Time) any { return none }}
}

var (
	eventColumns = []column{
		field("Last Seen", false, "lastTimestamp"), field("Type", false, "type"), field("Reason", false, "reason"),
		shown("Object", false, func(o map[string]any) string {
			return text(o, "involvedObject", "kind") + "/" + text(o, "involvedObject", "name")
		}),
		field("Message", false, "message"),
	}
	namespaceColumns = []column{nameColumn, field("Status", false, "status", "phase"), ageColumn}
	nodeColumns      = []column{nameColumn, shown("Status", false, nodeStatus), shown("Roles", false, roles), ageColumn, field("Version", false, "status", "nodeInfo", "kubeletVersion"),
		shown("Internal-IP", true, addressOf("InternalIP")), shown("External-IP", true, addressOf("ExternalIP")),
		field("OS-Image", true, "status", "nodeInfo", "osImage"), field("Kernel-Version", true, "status", "nodeInfo", "kernelVersion"),
		field("Container-Runtime", true, "status", "nodeInfo", "containerRuntimeVersion")}
	podColumns = []column{nameColumn, shown("Ready", false, podReady), shown("Status", false, podStatus),
		{name: "Restarts", cell: func(*entry, time.Time) any { return "0" }}, ageColumn,
		field("IP", true, "status", "podIP"), field("Node", true, "spec", "nodeName"), nothing("Nominated Node"), nothing("Readiness Gates")}
	accountColumns = []column{nameColumn, {name: "Secrets", cellType: "integer", cell: func(*entry, time.Time) any { return 0 }}, ageColumn}
	serviceColumns = []column{nameColumn, field("Type", false, "spec", "type"), field("Cluster-IP", false, "spec", "clusterIP"), shown("External-IP", false, externalIP),
		shown("Port(s)", false, servicePorts), ageColumn, shown("Selector", true, func(o map[string]any) string { return orNone(pairs(at(o, "spec", "selector"))) })}
	sliceColumns        = []column{nameColumn, field("AddressType", false, "addressType"), shown("Ports", false, slicePorts), shown("Endpoints", false, sliceAddresses), ageColumn}
	endpointsColumns    = []column{nameColumn, shown("Endpoints", false, endpointsAddresses), ageColumn}
	configColumns       = []column{nameColumn, {name: "Data", cellType: "integer", cell: func(e *entry, _ time.Time) any { data, _ := e.object["data"].(map[string]any); return len(data) }}, ageColumn}
	classColumns        = []column{nameColumn, field("Controller", false, "spec", "controller"), {name: "Parameters", cell: nothing("").cell}, ageColumn}
	policyColumns       = []column{nameColumn, shown("Pod-Selector", false, selectorOf("podSelector")), ageColumn}
	routeColumns        = []column{nameColumn, shown("Hostnames", false, routeHosts), ageColumn}
	ingressColumns      = []column{nameColumn, field("Class", false, "spec", "ingressClassName"), shown("Hosts", false, ingressHosts), shown("Address", false, ingressAddresses), shown("Ports", false, ingressPorts), ageColumn}
	cidrColumns         = []column{nameColumn, shown("CIDRs", false, func(o map[string]any) string { return joined(each(o, "spec", "cidrs")) }), ageColumn}
	gatewayClassColumns = []column{nameColumn, field("Controller", false, "spec", "controllerName"), conditionColumn("Accepted"), ageColumn, field("Description", true, "spec", "description")}
	gatewayColumns      = []column{nameColumn, field("Class", false, "spec", "gatewayClassName"), shown("Address", false, gatewayAddresses), conditionColumn("Programmed"), ageColumn}
	grantColumns        = []column{nameColumn, ageColumn}

	clusterPolicyColumns = []column{nameColumn, field("Tier", false, "spec", "tier"), field("Priority", false, "spec", "priority"), ageColumn}
)

// conditionColumn is the status of a condition.
func conditionColumn(name string) column {
	return shown(name, false, func(o map[string]any) string { return map[bool]string{true: "True", false: "Unknown"}[isTrue(o, name)] })
}

func gatewayAddresses(o map[string]any) string {
	var list []any
	for _, a := range each(o, "status", "addresses") {
		list = append(list, text(a, "value"))
	}
	return joined(list)
}

// age is a duration as kubectl writes it (apimachinery, duration.HumanDuration).
func age(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	minutes, hours, days := s/60, s/3600, s/86400
	two := func(n int, unit string, rest int, small string) string {
		if rest == 0 {
			return fmt.Sprint(n, unit)
		}
		return fmt.Sprint(n, unit, rest, small)
	}
	switch {
	case s < 120:
		return fmt.Sprint(s, "s")
	case minutes < 10:
		return two(minutes, "m", s%60, "s")
	case hours < 3:
		return fmt.Sprint(minutes, "m")
	case hours < 8:
		return two(hours, "h", minutes%60, "m")
	case hours < 48:
		return fmt.Sprint(hours, "h")
	case days < 8:
		return two(days, "d", hours%24, "h")
	}
	return fmt.Sprint(days, "d")
}

func joined(list []any) string {
	var out []string
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, ",")
}

// pairs are labels as a=b,c=d.
func pairs(v any) string {
	m, _ := v.(map[string]any)
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+text(m, k))
	}
	return strings.Join(out, ",")
}

func isTrue(object map[string]any, condition string) bool {
	return slices.ContainsFunc(each(object, "status", "conditions"), func(c any) bool { return text(c, "type") == condition && text(c, "status") == "True" })
}

func nodeStatus(o map[string]any) string {
	if isTrue(o, "Ready") {
		return "Ready"
	}
	return "NotReady"
}

func roles(o map[string]any) string {
	labels, _ := at(o, "metadata", "labels").(map[string]any)
	var list []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if role, is := strings.CutPrefix(k, "node-role.kubernetes.io/"); is && role != "" {
			list = append(list, role)
		}
	}
	return orNone(strings.Join(list, ","))
}

func addressOf(kind string) func(map[string]any) string {
	return func(o map[string]any) string {
		for _, a := range each(o, "status", "addresses") {
			if text(a, "type") == kind {
				return text(a, "address")
			}
		}
		return none
	}
}

func podReady(o map[string]any) string {
	ready := 0
	for _, c := range each(o, "status", "containerStatuses") {
		if text(c, "ready") == "true" {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d", ready, len(each(o, "spec", "containers")))
}

func podStatus(o map[string]any) string {
	if text(o, "metadata", "deletionTimestamp") != "" {
		return "Terminating"
	}
	return text(o, "status", "phase")
}

func externalIP(o map[string]any) string {
	list := each(o, "spec", "externalIPs")
	switch text(o, "spec", "type") {
	case "ExternalName":
		return text(o, "spec", "externalName")
	case "LoadBalancer":
		var addresses []any
		for _, i := range each(o, "status", "loadBalancer", "ingress") {
			addresses = append(addresses, text(i, "ip"))
		}
		if list = append(addresses, list...); len(list) == 0 {
			return "<pending>"
		}
	}
	return orNone(joined(list))
}

func servicePorts(o map[string]any) string {
	var list []string
	for _, p := range each(o, "spec", "ports") {
		one := text(p, "port")
		if node := text(p, "nodePort"); node != "" {
			one += ":" + node
		}
		list = append(list, one+"/"+text(p, "protocol"))
	}
	return orNone(strings.Join(list, ","))
}

// few are the first three of a list.
func few(list []string) string {
	if more := len(list) - 3; more > 0 {
		return strings.Join(list[:3], ",") + " + " + strconv.Itoa(more) + " more..."
	}
	if len(list) == 0 {
		return "<unset>"
	}
	return strings.Join(list, ",")
}

func slicePorts(o map[string]any) string {
	var list []string
	for _, p := range each(o, "ports") {
		list = append(list, text(p, "port"))
	}
	return few(list)
}

func sliceAddresses(o map[string]any) string {
	var list []string
	for _, e := range each(o, "endpoints") {
		for _, a := range each(e, "addresses") {
			list = append(list, fmt.Sprint(a))
		}
	}
	return few(list)
}

// endpointsAddresses are those that are ready, with their ports (formatEndpoints).
func endpointsAddresses(o map[string]any) string {
	var list []string
	for _, s := range each(o, "subsets") {
		for _, a := range each(s, "addresses") {
			if len(each(s, "ports")) == 0 {
				list = append(list, text(a, "ip"))
			}
			for _, p := range each(s, "ports") {
				list = append(list, net.JoinHostPort(text(a, "ip"), text(p, "port")))
			}
		}
	}
	if len(list) == 0 {
		return none
	}
	return few(list)
}

// routeHosts are the hostnames of a route, as the column of its definition has them.
func routeHosts(o map[string]any) string {
	var list []string
	for _, h := range each(o, "spec", "hostnames") {
		list = append(list, strconv.Quote(fmt.Sprint(h)))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// ingressHosts are the hosts of an ingress, or "*" where there is none.
func ingressHosts(o map[string]any) string {
	var list []string
	for _, r := range each(o, "spec", "rules") {
		if host := text(r, "host"); host != "" {
			list = append(list, host)
		}
	}
	if len(list) == 0 {
		return "*"
	}
	return few(list)
}

func ingressAddresses(o map[string]any) string {
	var list []any
	for _, i := range each(o, "status", "loadBalancer", "ingress") {
		list = append(list, text(i, "ip"))
	}
	return joined(list)
}

func ingressPorts(o map[string]any) string {
	if len(each(o, "spec", "tls")) > 0 {
		return "80, 443"
	}
	return "80"
}

// selectorOf is a label selector as text (apimachinery, meta/v1.FormatLabelSelector).
func selectorOf(name string) func(o map[string]any) string {
	return func(o map[string]any) string {
		var list []string
		if all := pairs(at(o, "spec", name, "matchLabels")); all != "" {
			list = append(list, all)
		}
		for _, x := range each(o, "spec", name, "matchExpressions") {
			key, values := text(x, "key"), joined(each(x, "values"))
			switch text(x, "operator") {
			case "In":
				key += " in (" + values + ")"
			case "NotIn":
				key += " notin (" + values + ")"
			case "DoesNotExist":
				key = "!" + key
			}
			list = append(list, key)
		}
		return orNone(strings.Join(list, ","))
	}
}
