package plan

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/plan/occupant"
)

func program() occupant.Exec {
	return occupant.Exec{Name: "web", Node: "n1", Argv: []string{"server", "-p", "80"}, Env: []string{"A=b"}, Dir: "/srv", Stdin: "in", Image: occupant.Image{Name: "web.tar", Path: "/srv/web.tar", Digest: "sha256:12"}, Restart: true, NetAdmin: true, Agent: true, Needs: []string{"ip_vs"},
		Files: []occupant.File{{Path: "/etc/x", Content: "y", Mode: 0o644}}, Addrs: []netip.Addr{netip.MustParseAddr("10.244.1.2")},
		Listen: []occupant.Listen{{Protocol: "tcp", Port: 80}}, Ready: occupant.Ready{TCP: 80, Within: time.Second}, Origin: Origin{Object: "pod web", File: "a.hcl", Line: 3}}
}

func programs(x occupant.Exec) *Plan {
	return &Plan{Netns: []Netns{{Name: "pod.web", Kind: Pod, Execs: []occupant.Exec{x}}}}
}

// Whatever changes about a program restarts it, except where it is written.
func TestEveryFieldOfAProgramIsCompared(t *testing.T) {
	want := program()
	for i := range reflect.TypeFor[occupant.Exec]().NumField() {
		have := program()
		field := reflect.ValueOf(&have).Elem().Field(i)
		name := reflect.TypeFor[occupant.Exec]().Field(i).Name
		if name == "State" {
			field.SetString("exited 3")
		} else {
			field.SetZero()
		}
		same := Diff(programs(have), programs(want)).Empty()
		if same != (name == "Origin") {
			t.Errorf("without %s it is the same: %v", name, same)
		}
		var was, is strings.Builder
		was.Write(programs(have).Text())
		is.Write(programs(want).Text())
		if hidden := []string{"Node", "Addrs", "State"}; (was.String() == is.String()) != slices.Contains(hidden, name) {
			t.Errorf("without %s the text is\n%s", name, was.String())
		}
	}
}

func TestAProgramThatEndedIsDrift(t *testing.T) {
	have := program()
	have.State = "exited 3"
	want := []string{"pod.web: the program of web exited 3 (a.hcl:3 pod web)"}
	if got := Drift(programs(have), programs(program())); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	have = program()
	have.Dir = "/"
	want = []string{"pod.web: program of web changed (a.hcl:3 pod web)"}
	if got := Drift(programs(have), programs(program())); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
