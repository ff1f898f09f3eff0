package language

import (
	"fmt"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
)

func TestAllowListsWhoReachesWhom(t *testing.T) {
	const lab = `
node "n" {}
client "laptop" {}
pod "a" {
  port "http" { port = 80 }
}
pod "b" {
  for_each = toset(["x", "y"])
  port "http" { port = 80 }
  port "alt" { port = 81 }
}
service "b" {
  selector = {}
  port "http" { port = 80 }
}
`
	for _, row := range []struct{ name, from, to, allow, want string }{
		{"only itself", `[pod.a, pod.b]`, `[pod.a, pod.b]`, `[]`, "[[true false false] [false true false] [false false true]]"},
		{"a pair", `[pod.a, pod.b]`, `[pod.a, pod.b]`, `[[pod.a, pod.b["x"]]]`, "[[true true false] [false true false] [false false true]]"},
		{"lists on both sides", `[pod.a, pod.b]`, `[pod.a, pod.b]`, `[[pod.b, [pod.a, pod.b]]]`, "[[true false false] [true true true] [true true true]]"},
		{"computed", `pod.b`, `[pod.a]`, `[for k, p in pod.b : [p, pod.a] if k == "y"]`, "[[false] [true]]"},
		{"clients and services", `[client.laptop, pod.a]`, `[service.b, "${pod.a.ip}:80"]`, `[[client.laptop, "${pod.a.ip}:80"], [pod.a, service.b]]`, "[[false true] [true true]]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := loadText(t, fmt.Sprintf("%sexpect \"table\" {\n from = %s\n to = %s\n port = 80\n allow = %s\n}\n", lab, row.from, row.to, row.allow), Options{})
			e := s.Expects[0]
			if got := fmt.Sprint(e.Allow.Pairs); got != row.want || e.Allow.Denied != flow.Timeout {
				t.Errorf("got  %s, else %s\nwant %s", got, e.Allow.Denied, row.want)
			}
		})
	}
	for want, text := range map[flow.Outcome]string{
		flow.Refused: "policies { deny = \"reject\" }\n" + lab + "expect \"t\" {\n from = pod.a\n to = pod.a\n allow = []\n}\n",
		flow.Timeout: "policies { deny = \"reject\" }\n" + lab + "expect \"t\" {\n from = pod.a\n to = pod.a\n allow = []\n denied = \"timeout\"\n}\n",
	} {
		if got := loadText(t, text, Options{}).Expects[0].Allow.Denied; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
