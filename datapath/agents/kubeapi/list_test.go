package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestSelectors(t *testing.T) {
	c := serve(t, cluster)
	for path, want := range map[string]string{
		"/api/v1/pods":                                                         "default/db-0 default/web-0 prod/web-0",
		"/api/v1/namespaces/default/pods":                                      "default/db-0 default/web-0",
		"/api/v1/namespaces/nowhere/pods":                                      "",
		"/api/v1/nodes":                                                        "node1",
		"/api/v1/pods?limit=1":                                                 "default/db-0",
		"/api/v1/pods?labelSelector=app%3Dweb":                                 "default/web-0 prod/web-0",
		"/api/v1/pods?labelSelector=app%3D%3Dweb,tier":                         "default/web-0",
		"/api/v1/pods?labelSelector=app!%3Dweb":                                "default/db-0",
		"/api/v1/pods?labelSelector=!tier":                                     "default/db-0 prod/web-0",
		"/api/v1/pods?labelSelector=tier!%3Dback":                              "default/db-0 default/web-0 prod/web-0",
		"/api/v1/pods?labelSelector=app%20in%20(web,x),tier%20notin%20(front)": "prod/web-0",
		"/api/v1/pods?labelSelector=app%20in(db)":                              "default/db-0",
		"/api/v1/pods?labelSelector=app%3D":                                    "",
		"/api/v1/pods?labelSelector=a%20b":                                     "400 unable to parse requirement: invalid term \"a b\"",
		"/api/v1/pods?labelSelector=app%20in%20web":                            "400 unable to parse requirement: invalid term \"app in web\"",
		"/api/v1/pods?labelSelector=" + strings.Repeat("a,", 300):              "400 a selector of more than 256 terms",
		"/api/v1/pods?fieldSelector=spec.nodeName%3Dnode1":                     "default/web-0 prod/web-0",
		"/api/v1/pods?fieldSelector=spec.nodeName!%3Dnode1,metadata.name!%3Dx": "default/db-0",
		"/api/v1/pods?fieldSelector=metadata.namespace%3Dprod":                 "prod/web-0",
		"/api/v1/pods?fieldSelector=spec.hostNetwork%3Dfalse":                  "default/db-0 default/web-0 prod/web-0",
		"/api/v1/pods?fieldSelector=spec.containers%3Dx":                       "400 field label not supported: spec.containers",
		"/api/v1/nodes?fieldSelector=metadata.namespace%3Dx":                   "400 field label not supported: metadata.namespace",
		"/api/v1/services?fieldSelector=spec.clusterIP!%3DNone":                "default/web",
		"/api/v1/events?fieldSelector=involvedObject.name%3Dx":                 "",
		"/api/v1/pods?resourceVersion=x":                                       "400 invalid resource version \"x\"",
		"/api/v1/pods?resourceVersion=1&resourceVersionMatch=Exact":            "410 too old",
		"/api/v1/pods?resourceVersion=9000000000000000":                        "504 Too large resource version",
	} {
		if got := c.names(path); got != want && (want == "" || want[0] < '4' || want[0] > '5' || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// What does not exist is told as a real server tells it, and nothing can be changed.
func TestRefusals(t *testing.T) {
	c := serve(t, cluster)
	reading := []string{http.MethodGet}
	writing := []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	for _, x := range []struct {
		methods      []string
		path, reason string
		code         int
	}{
		{reading, "/api/v1/namespaces/default/pods/web-0", "", 200},
		{reading, "/api/v1/namespaces/default/pods/nosuch", "NotFound", 404},
		{reading, "/api/v1/namespaces/default/deployments", "NotFound", 404},
		{reading, "/apis/apps/v1/controllerrevisions", "NotFound", 404},
		{reading, "/apis/apps/v2", "NotFound", 404},
		{reading, "/apis/policy", "NotFound", 404},
		{reading, "/api/v1/pods/web-0", "NotFound", 404},
		{reading, "/api/v1/namespaces/default/nodes", "NotFound", 404},
		{reading, "/api/v1/namespaces/default/pods/web-0/log", "NotFound", 404},
		{reading, "/openapi/v4", "NotFound", 404},
		{reading, "/", "NotFound", 404},
		{writing, "/api/v1/namespaces/default/pods/web-0", "MethodNotAllowed", 405},
		{writing, "/api/v1/namespaces/default/pods", "MethodNotAllowed", 405},
		{writing, "/api/v1/nodes", "MethodNotAllowed", 405},
		{writing, "/version", "MethodNotAllowed", 405},
		{writing, "/apis/apps/v1/namespaces/default/deployments", "MethodNotAllowed", 405},
		{writing, "/apis/apps/v1/namespaces/default/deployments/web/scale", "MethodNotAllowed", 405},
		{writing, "/apis/apps/v1/namespaces/default/deployments/web/status", "NotFound", 404},
		{writing, "/api/v1/nodes/node1/log", "NotFound", 404},
		{writing[1:], "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "MethodNotAllowed", 405},
		{writing[:1], "/apis/events.k8s.io/v1/namespaces/default/events", "", 201},
		{writing[2:3], "/api/v1/namespaces/default/events/x", "", 200},
		{writing[3:], "/api/v1/namespaces/default/events/x", "MethodNotAllowed", 405},
	} {
		for _, method := range x.methods {
			code, answer := c.ask(method, x.path, "application/json")
			if code != x.code || text(answer, "reason") != x.reason || x.reason != "" && (text(answer, "kind") != "Status" || text(answer, "code") != "" && text(answer, "code") != fmt.Sprint(code)) {
				t.Errorf("%s %s: got %d %v, want %d %s", method, x.path, code, answer, x.code, x.reason)
			}
		}
	}
	if got, want := c.names("/api/v1/pods"), "default/db-0 default/web-0 prod/web-0"; got != want {
		t.Errorf("afterwards the pods are %q, want %q", got, want)
	}
}

// Who asks for what a lab has elsewhere is told where.
func TestRefusalsSayWhatToDo(t *testing.T) {
	c := serve(t, cluster)
	for path, want := range map[string]string{
		"/api/v1/namespaces/default/pods/web-0/log":              "netlab logs web-0",
		"/api/v1/namespaces/default/pods/web-0/exec?command=ls":  "netlab exec web-0 -- COMMAND",
		"/apis/apps/v1/namespaces/default/deployments/web/scale": "netlab up",
		"/api/v1/namespaces/default/pods/web-0/portforward":      "netlab exec web-0 -- COMMAND",
	} {
		if _, answer := c.ask(http.MethodGet, path, "application/json"); !strings.Contains(text(answer, "message"), want) {
			t.Errorf("%s: got %v, want %q", path, answer, want)
		}
	}
	for _, path := range []string{"/openapi/v2", "/openapi/v3"} { // as text, which is what kubectl shows
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusNotAcceptable || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || !strings.Contains(w.Body.String(), "netlab import --strict") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// Pages are the list in parts, of one version, whatever form and selector they have.
func TestPages(t *testing.T) {
	c := serve(t, cluster)
	read := func(path, accept, items string, limit int) (pages []int, names []string) {
		t.Helper()
		next, first := "", ""
		for {
			code, list := c.ask(http.MethodGet, fmt.Sprintf("%s&limit=%d&continue=%s", path, limit, next), accept)
			if code != http.StatusOK || len(pages) > 9 {
				t.Fatalf("%s: page %d: %d %v", path, len(pages), code, list)
			}
			part := each(list, items)
			pages = append(pages, len(part))
			for _, o := range part {
				if items == "rows" {
					o, _ = o.(map[string]any)["object"].(map[string]any)
				}
				names = append(names, text(o, "metadata", "namespace")+"/"+text(o, "metadata", "name"))
			}
			if first == "" {
				first = version(list)
			}
			if version(list) != first {
				t.Errorf("%s: page %d has version %s, the first %s", path, len(pages), version(list), first)
			}
			if next = text(list, "metadata", "continue"); next == "" {
				return pages, names
			}
		}
	}
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	for _, x := range []struct {
		path, accept, items string
		limit               int
		pages, names        string
	}{
		{"/api/v1/pods?", "application/json", "items", 2, "[2 1]", "[default/db-0 default/web-0 prod/web-0]"},
		{"/api/v1/pods?", table, "rows", 1, "[1 1 1]", "[default/db-0 default/web-0 prod/web-0]"},
		{"/api/v1/pods?", "application/json", "items", 3, "[3]", "[default/db-0 default/web-0 prod/web-0]"},
		{"/api/v1/pods?", "application/json", "items", 0, "[3]", "[default/db-0 default/web-0 prod/web-0]"},
		{"/api/v1/pods?labelSelector=app%3Dweb", "application/json", "items", 1, "[1 1]", "[default/web-0 prod/web-0]"},
		{"/api/v1/namespaces/default/pods?", "application/json", "items", 1, "[1 1]", "[default/db-0 default/web-0]"},
		{"/api/v1/pods?resourceVersion=0", "application/json", "items", 1, "[3]", "[default/db-0 default/web-0 prod/web-0]"},
		{"/api/v1/pods?labelSelector=app%3Dnone", "application/json", "items", 1, "[0]", "[]"},
	} {
		pages, names := read(x.path, x.accept, x.items, x.limit)
		if fmt.Sprint(pages) != x.pages || fmt.Sprint(names) != x.names {
			t.Errorf("%s limit %d: got %v %v, want %s %s", x.path, x.limit, pages, names, x.pages, x.names)
		}
	}
	_, list := c.ask(http.MethodGet, "/api/v1/pods?limit=1", "application/json")
	if left := fmt.Sprint(at(list, "metadata", "remainingItemCount")); left != "2" {
		t.Errorf("%s are left, want 2", left)
	}
	next := text(list, "metadata", "continue")

	for path, want := range map[string]int{
		"limit=-1": 400, "limit=x": 400, "limit=1&continue=x": 400, "continue=e30": 400,
		"limit=1&resourceVersion=7&continue=" + next: 400, "limit=1&continue=" + next: 200,
	} {
		if code, answer := c.ask(http.MethodGet, "/api/v1/pods?"+path, "application/json"); code != want {
			t.Errorf("%s: got %d %v, want %d", path, code, answer, want)
		}
	}
	// A list does not go on after a change.
	if err := c.Set([]byte(node1)); err != nil {
		t.Fatal(err)
	}
	if code, answer := c.ask(http.MethodGet, "/api/v1/pods?limit=1&continue="+next, "application/json"); code != 410 || text(answer, "reason") != "Expired" {
		t.Errorf("after a change: got %d %v, want 410", code, answer)
	}
}

func TestDiscoveryListsWhatIsServed(t *testing.T) {
	c := serve(t, cluster)
	_, core := c.ask(http.MethodGet, "/api", "*/*")
	_, all := c.ask(http.MethodGet, "/apis", "*/*")
	groupVersions := map[string]string{}
	for _, v := range each(core, "versions") {
		groupVersions[fmt.Sprint(v)] = "/api/" + fmt.Sprint(v)
	}
	for _, g := range each(all, "groups") {
		_, alone := c.ask(http.MethodGet, "/apis/"+text(g, "name"), "*/*")
		preferred := text(alone, "preferredVersion", "groupVersion")
		groupVersions[preferred] = "/apis/" + preferred
	}
	found := 0
	for name, path := range groupVersions {
		_, list := c.ask(http.MethodGet, path, "*/*")
		for _, r := range each(list, "resources") {
			code, objects := c.ask(http.MethodGet, path+"/"+text(r, "name"), "*/*")
			if code != http.StatusOK || text(objects, "kind") != text(r, "kind")+"List" || text(objects, "apiVersion") != name {
				t.Errorf("%s of %s: %d %v", text(r, "name"), name, code, objects)
			}
			found++
		}
	}
	if found != len(resources) {
		t.Errorf("discovery has %d kinds, served are %d", found, len(resources))
	}
}

const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

func TestTables(t *testing.T) {
	c := serve(t, cluster)
	for path, want := range map[string]string{
		"/api/v1/namespaces/default/pods":          "Name Ready Status Restarts Age *IP *Node *Nominated Node *Readiness Gates\ndb-0 1/1 Running 0 0s 10.0.0.1 node2 <none> <none>\nweb-0 1/1 Running 0 0s 10.0.0.1 node1 <none> <none>\n",
		"/api/v1/namespaces/default/services/web":  "Name Type Cluster-IP External-IP Port(s) Age *Selector\nweb NodePort 10.96.0.1 <none> 80:30080/TCP 0s app=web\n",
		"/api/v1/nodes":                            "Name Status Roles Age Version *Internal-IP *External-IP *OS-Image *Kernel-Version *Container-Runtime\nnode1 Ready <none> 0s <none> 192.168.0.11 <none> <none> <none> <none>\n",
		"/apis/discovery.k8s.io/v1/endpointslices": "Name AddressType Ports Endpoints Age\n",
	} {
		_, table := c.ask(http.MethodGet, path, asTable)
		var out strings.Builder
		for i, d := range each(table, "columnDefinitions") {
			if i > 0 {
				out.WriteByte(' ')
			}
			if fmt.Sprint(at(d, "priority")) == "1" {
				out.WriteByte('*')
			}
			out.WriteString(text(d, "name"))
		}
		out.WriteByte('\n')
		for _, r := range each(table, "rows") {
			cells := each(r, "cells")
			for i, d := range each(table, "columnDefinitions") {
				if text(d, "name") == "Age" { // it depends on the clock
					cells[i] = "0s"
				}
			}
			out.WriteString(strings.Trim(fmt.Sprint(cells...), "[]") + "\n")
			if text(r, "object", "kind") != "PartialObjectMetadata" || at(r, "object", "spec") != nil {
				t.Errorf("%s: a row comes with %v", path, at(r, "object"))
			}
		}
		if got := spaced(out.String()); got != spaced(want) || text(table, "kind") != "Table" {
			t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
		}
	}
	if _, table := c.ask(http.MethodGet, "/api/v1/pods?includeObject=Object", asTable); at(each(table, "rows")[0], "object", "spec") == nil {
		t.Error("no object in a row that should have it")
	}
	if _, list := c.ask(http.MethodGet, "/api/v1/pods", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"); text(list, "kind") != "PartialObjectMetadataList" || at(each(list, "items")[0], "spec") != nil {
		t.Errorf("metadata alone: %v", list)
	}
	if _, list := c.ask(http.MethodGet, "/api/v1/pods", "application/vnd.kubernetes.protobuf,application/json"); text(list, "kind") != "PodList" {
		t.Errorf("who prefers protobuf gets %v", list)
	}
}

// Workloads have the columns of a real server, -o wide as well.
func TestTablesOfWorkloads(t *testing.T) {
	const template = `"selector":{"matchLabels":{"app":"a"}},"template":{"spec":{"containers":[{"name":"c","image":"i"},{"name":"d","image":"j"}]}}`
	object := func(version, kind, spec, status string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"a","namespace":"default"},"spec":{%s%s},"status":{%s}}`+"\n", version, kind, spec, template, status)
	}
	c := serve(t, object("apps/v1", "Deployment", `"replicas":3,`, `"readyReplicas":2,"updatedReplicas":3,"availableReplicas":2`)+
		object("apps/v1", "ReplicaSet", `"replicas":3,`, `"replicas":3`)+object("apps/v1", "StatefulSet", `"replicas":2,`, `"readyReplicas":2`)+
		object("apps/v1", "DaemonSet", ``, `"desiredNumberScheduled":4,"currentNumberScheduled":3,"numberReady":2,"updatedNumberScheduled":1`)+
		object("batch/v1", "Job", `"completions":2,`, `"active":2`)+
		`{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"a","namespace":"default"},"subsets":[{"addresses":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}],"notReadyAddresses":[{"ip":"10.0.0.9"}],"ports":[{"port":80},{"port":81}]}]}`+"\n")
	for path, want := range map[string]string{
		"/apis/apps/v1/deployments":  "a 2/3 3 2 c,d i,j app=a",
		"/apis/apps/v1/replicasets":  "a 3 3 0 c,d i,j app=a",
		"/apis/apps/v1/statefulsets": "a 2/2 c,d i,j",
		"/apis/apps/v1/daemonsets":   "a 4 3 2 1 0 <none> c,d i,j app=a",
		"/apis/batch/v1/jobs":        "a Running 0/2 c,d i,j app=a",
		"/api/v1/endpoints":          "a 10.0.0.1:80,10.0.0.1:81,[fd00::1]:80 + 1 more...",
	} {
		_, table := c.ask(http.MethodGet, path, asTable)
		var cells []string
		for i, d := range each(table, "columnDefinitions") {
			if name := text(d, "name"); name != "Age" && name != "Duration" { // they depend on the clock
				cells = append(cells, fmt.Sprint(each(each(table, "rows")[0], "cells")[i]))
			}
		}
		if got := strings.Join(cells, " "); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// spaced has no spaces that Sprint would or would not put between operands.
func spaced(s string) string { return strings.ReplaceAll(s, " ", "") }

// Nothing is decoded until somebody asks. From then on, lines that are no objects are refused,
// and leave all as it was.
func TestObjectsAreDecodedWhenAskedFor(t *testing.T) {
	c := serve(t, "this is nothing\n")
	if err := c.Set([]byte(cluster)); err != nil {
		t.Fatal(err)
	}
	before := c.names("/api/v1/pods")
	for _, wrong := range []string{"nothing\n", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}`, "[]"} {
		if err := c.Set([]byte(service("other", "10.96.0.9") + wrong)); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
	if after := c.names("/api/v1/pods"); after != before || before == "" {
		t.Errorf("got %q, before %q", after, before)
	}
}

// Everybody may read, and nobody may write, whether that is asked in JSON or in protobuf.
func TestWhoMayDoWhat(t *testing.T) {
	text := func(number byte, of string) string { return string([]byte{number<<3 | 2, byte(len(of))}) + of }
	binary := func(attributes string) string {
		return "k8s\x00" + text(1, text(1, "authorization.k8s.io/v1")) + text(2, "\x18\x01"+text(2, attributes))
	}
	for body, want := range map[string]string{
		`{"spec":{"resourceAttributes":{"verb":"list","resource":"pods"}}}`: "true",
		`{"spec":{"nonResourceAttributes":{"verb":"get","path":"/x"}}}`:     "true",
		`{"spec":{"resourceAttributes":{"verb":"delete"}}}`:                 "false",
		`{"spec":{}}`: "false",
		`{`:           "null",
		binary(text(1, text(1, "default")+text(2, "watch")+text(4, "v1"))): "true",
		binary(text(1, text(2, "create"))):                                 "false",
		binary(text(2, text(1, "/x")+text(2, "get"))):                      "true",
		"k8s\x00\x12\x7f": "false",
		"k8s\x00\xff":     "false",
	} {
		w := httptest.NewRecorder()
		New("v1.35.0", born).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", strings.NewReader(body)))
		var answer struct{ Status any }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		got := "null"
		if of, is := answer.Status.(map[string]any); is {
			got = fmt.Sprint(of["allowed"])
		}
		if got != want {
			t.Errorf("%q: got %s, want %s: %s", body, got, want, w.Body)
		}
	}
}
