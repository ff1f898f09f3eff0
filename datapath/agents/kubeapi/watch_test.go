package kubeapi

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestAWatchTellsChanges(t *testing.T) {
	c := serve(t, cluster)
	next := c.watch("/api/v1/pods", "labelSelector", "app=web", "sendInitialEvents", "true", "resourceVersionMatch", "NotOlderThan", "allowWatchBookmarks", "true")
	want := func(what string) map[string]any {
		t.Helper()
		e := next()
		if told(e) != what {
			t.Errorf("got %v, want %s", e, what)
		}
		return e
	}
	want("ADDED web-0")
	old := want("ADDED web-0")
	mark := want("BOOKMARK")
	if text(mark, "object", "metadata", "annotations", "k8s.io/initial-events-end") != "true" || text(mark, "object", "kind") != "Pod" {
		t.Errorf("the bookmark is %v", mark)
	}
	set := func(lines string) {
		t.Helper()
		if err := c.Set([]byte(lines)); err != nil {
			t.Fatal(err)
		}
	}
	// One moves, one leaves the selector, one comes into it; another kind is no business of ours.
	set(node1 + service("third", "10.96.0.3") + pod("default", "web-0", "node2", `"app":"web"`) + pod("prod", "web-0", "node1", `"app":"old"`) + pod("default", "db-0", "node2", `"app":"web"`))
	moved := want("MODIFIED web-0")
	if text(moved, "object", "spec", "nodeName") != "node2" || version(at(moved, "object")) <= version(at(old, "object")) {
		t.Errorf("got %v after %v", moved, old)
	}
	if a, b := at(moved, "object", "metadata"), at(old, "object", "metadata"); text(a, "creationTimestamp") != text(b, "creationTimestamp") || strings.Contains(fmt.Sprint(moved), born) {
		t.Errorf("it is as old as before, and not of 1970: %v, %v", a, b)
	}
	want("DELETED web-0")
	want("ADDED db-0")
	set(node1)
	gone := want("DELETED db-0")
	want("DELETED web-0")
	// A watch that begins later gets what came after its version, and only that.
	next = c.watch("/api/v1/pods", "resourceVersion", version(at(moved, "object")), "labelSelector", "app=web")
	want("DELETED web-0")
	want("ADDED db-0")
	want("DELETED db-0")
	next = c.watch("/api/v1/pods", "resourceVersion", version(at(gone, "object")), "labelSelector", "app=web")
	want("DELETED web-0")
}

func TestAWatchEnds(t *testing.T) {
	c := serve(t, cluster)
	_, list := c.ask(http.MethodGet, "/api/v1/pods", "*/*")
	if e := c.watch("/api/v1/pods", "resourceVersion", "5")(); told(e) != "ERROR" || text(e, "object", "reason") != "Expired" {
		t.Errorf("an old version: %v", e)
	}
	if e := c.watch("/api/v1/pods", "timeoutSeconds", "1", "resourceVersion", version(list))(); e != nil {
		t.Errorf("got %v, want the end", e)
	}
	for query, code := range map[string]int{
		"watch=1&sendInitialEvents=true":                                   http.StatusUnprocessableEntity,
		"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan": http.StatusUnprocessableEntity,
		"watch=1&resourceVersion=9000000000000000":                         http.StatusGatewayTimeout,
		"watch=1&resourceVersion=-1":                                       http.StatusBadRequest,
	} {
		if got, answer := c.ask(http.MethodGet, "/api/v1/pods?"+query, "*/*"); got != code {
			t.Errorf("%s: got %d %v, want %d", query, got, answer, code)
		}
	}
	// One that lags behind what is remembered is told so.
	next := c.watch("/api/v1/services", "resourceVersion", version(list))
	c.store.keep = 16
	for i := range 8 {
		var many strings.Builder
		for j := range 10 {
			many.WriteString(pod("default", fmt.Sprintf("p%d", j), "node1", fmt.Sprintf(`"round":"%d"`, i)))
		}
		if err := c.Set([]byte(many.String())); err != nil {
			t.Fatal(err)
		}
	}
	for e := next(); ; e = next() {
		if told(e) == "ERROR" || told(e) == "DELETED headless" { // it was fast enough
			break
		}
	}
	if e := c.watch("/api/v1/services", "resourceVersion", version(list))(); text(e, "object", "reason") != "Expired" {
		t.Errorf("got %v", e)
	}
}

// A list and the changes after it are the list at the end, for any changes and any selector.
func TestAListAndItsChangesAreTheNextList(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c := serve(t, cluster)
	selector := "app in (web,db)"
	_, list := c.ask(http.MethodGet, "/api/v1/pods?labelSelector=app%20in%20(web,db)", "*/*")
	have := map[string]string{}
	for _, o := range each(list, "items") {
		have[text(o, "metadata", "namespace")+"/"+text(o, "metadata", "name")] = version(o)
	}
	next := c.watch("/api/v1/pods", "labelSelector", selector, "resourceVersion", version(list))
	for range 50 {
		lines := node1
		for i := range 8 {
			if random.IntN(3) > 0 {
				lines += pod([]string{"default", "prod"}[i%2], fmt.Sprintf("p%d", i/2), fmt.Sprintf("node%d", random.IntN(2)), []string{`"app":"web"`, `"app":"db"`, `"app":"x"`, ""}[random.IntN(4)])
			}
		}
		if err := c.Set([]byte(lines)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Set([]byte(pod("last", "last", "node1", `"app":"web"`))); err != nil {
		t.Fatal(err)
	}
	for {
		e := next()
		key := text(e, "object", "metadata", "namespace") + "/" + text(e, "object", "metadata", "name")
		_, known := have[key]
		switch text(e, "type") {
		case "ADDED":
			if known {
				t.Errorf("%s is added twice", key)
			}
			have[key] = version(at(e, "object"))
		case "MODIFIED", "DELETED":
			if !known {
				t.Errorf("%s %s, which was not there", text(e, "type"), key)
			}
			have[key] = version(at(e, "object"))
			if text(e, "type") == "DELETED" {
				delete(have, key)
			}
		}
		if key == "last/last" {
			break
		}
	}
	var left []string
	for key := range have {
		left = append(left, key)
	}
	slices.Sort(left)
	if got, want := strings.Join(left, " "), c.names("/api/v1/pods?labelSelector=app%20in%20(web,db)"); got != want {
		t.Errorf("the changes lead to %q, the list is %q", got, want)
	}
}

// BenchmarkChange is one change of a lab with 1,000 pods, until a watch has told it.
func BenchmarkChange(b *testing.B) {
	var rest strings.Builder
	for i := range 1000 {
		rest.WriteString(pod("default", fmt.Sprintf("p%d", i), "node1", `"app":"web"`))
	}
	s := New("v1.35.0", born)
	set := func(node int) {
		if err := s.Set([]byte(rest.String() + pod("default", "web", fmt.Sprintf("node%d", node), ""))); err != nil {
			b.Fatal(err)
		}
	}
	set(0)
	told := make(chan struct{}, 1)
	w := &lines{told: told, header: http.Header{}}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/api/v1/pods?watch=true&labelSelector=!app", nil)
	if err != nil {
		b.Fatal(err)
	}
	go s.ServeHTTP(w, r) // ends with the benchmark
	<-told
	for i := 1; b.Loop(); i++ {
		set(i)
		<-told
	}
}

// lines is an answer that tells of each line.
type lines struct {
	header http.Header
	told   chan<- struct{}
}

func (l *lines) Header() http.Header { return l.header }
func (l *lines) WriteHeader(int)     {}
func (l *lines) Flush()              {}
func (l *lines) Write(p []byte) (int, error) {
	for range strings.Count(string(p), "\n") {
		l.told <- struct{}{}
	}
	return len(p), nil
}
