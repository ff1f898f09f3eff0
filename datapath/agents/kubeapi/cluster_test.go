package kubeapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const born = "1970-01-01T00:00:00Z"

func pod(namespace, name, node, labels string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q,"labels":{%s}},"spec":{"nodeName":%q,"containers":[{"name":"c"}]},"status":{"phase":"Running","podIP":"10.0.0.1","startTime":%q,"containerStatuses":[{"ready":true}]}}`+"\n",
		name, namespace, labels, node, born)
}

func service(name, ip string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"namespace":"default"},"spec":{"type":"NodePort","clusterIP":%q,"selector":{"app":"web"},"ports":[{"port":80,"nodePort":30080,"protocol":"TCP"}]}}`+"\n", name, ip)
}

const node1 = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node1"},"status":{"conditions":[{"type":"Ready","status":"True"}],"addresses":[{"type":"InternalIP","address":"192.168.0.11"}]}}` + "\n"

// cluster is what most tests serve.
var cluster = node1 + pod("default", "web-0", "node1", `"app":"web","tier":"front"`) + pod("default", "db-0", "node2", `"app":"db"`) + pod("prod", "web-0", "node1", `"app":"web"`) +
	service("web", "10.96.0.1") + service("headless", "None")

// client talks to a server of its own.
type client struct {
	*testing.T
	*Server
	url string
}

func serve(t *testing.T, lines string) *client {
	t.Helper()
	c := &client{T: t, Server: New("v1.35.0", born)}
	if err := c.Set([]byte(lines)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	door := c.Open(l)
	t.Cleanup(func() { door.Close() })
	c.url = "http://" + l.Addr().String()
	return c
}

// ask sends a request, and returns the status code and the object of the answer.
func (c *client) ask(method, path, accept string) (int, map[string]any) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.url+path, nil)
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer answer.Body.Close()
	var object map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&object); err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	return answer.StatusCode, object
}

// names are those of the objects of a list, with their namespaces.
func (c *client) names(path string) string {
	c.Helper()
	code, list := c.ask(http.MethodGet, path, "application/json")
	if code != http.StatusOK {
		return fmt.Sprint(code, " ", text(list, "message"))
	}
	var out []string
	for _, o := range each(list, "items") {
		out = append(out, strings.TrimPrefix(text(o, "metadata", "namespace")+"/"+text(o, "metadata", "name"), "/"))
	}
	return strings.Join(out, " ")
}

// watch begins a watch. What it returns waits for the next event.
func (c *client) watch(path string, parameters ...string) func() map[string]any {
	c.Helper()
	q := url.Values{"watch": {"true"}}
	for i := 0; i < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	r, err := http.NewRequestWithContext(c.Context(), http.MethodGet, c.url+path+"?"+q.Encode(), nil)
	if err != nil {
		c.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { answer.Body.Close() })
	lines := bufio.NewReader(answer.Body)
	return func() map[string]any {
		c.Helper()
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		var event map[string]any
		if err == nil {
			err = json.Unmarshal(line, &event)
		}
		if err != nil {
			c.Fatalf("a watch of %s: %v", path, err)
		}
		return event
	}
}

// told is an event in words.
func told(event map[string]any) string {
	return strings.TrimSpace(text(event, "type") + " " + text(event, "object", "metadata", "name"))
}

// version is the resource version of an object or a list.
func version(object any) string { return text(object, "metadata", "resourceVersion") }
