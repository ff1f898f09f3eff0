package language

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/expect/state"
	"github.com/netlab/netlab/scenarios/language/claims"
)

// dialing are the attributes of an expectation that say what it is and what is dialed, and claim
// nothing; a model stands for several expectations (model.txtar in cmd/netlab).
var dialing = []string{"name", "for_each", "from", "to", "port", "protocol", "count", "within", "retry", "upload", "model", "fails", "proves"}

// An attribute that no check judges would hold whatever its value is.
func TestEveryClaimOfAnExpectationIsJudged(t *testing.T) {
	s := claims.ExpectTable()
	var written []string
	for _, a := range s.Attrs {
		if a.At != nil { // not planned
			written = append(written, a.Name)
		}
	}
	for _, b := range s.Blocks {
		written = append(written, b.Name)
	}
	for _, name := range written {
		if !slices.Contains(expect.Claims(), name) && !slices.Contains(dialing, name) {
			t.Errorf("no check judges %q of an expectation: add one to the list in scenarios/expect/check.go, with %q among its attributes", name, name)
		}
	}
	for _, name := range expect.Claims() {
		if !slices.Contains(written, name) {
			t.Errorf("a check in scenarios/expect judges %q, which an expectation does not have: add it to claims/expecttable.go", name)
		}
	}
}

// claimsWritten is a line of an expectation for each claim.
var claimsWritten = map[string]string{
	"outcome": `outcome = "refused"`, "sometimes": `sometimes = true`, "answer": `answer = pod.b`, "source": `source = "10.0.0.1"`, "forwarded": "http {}\nforwarded = \"10.0.0.1\"", "sticky": `sticky = true`,
	"ttl": `ttl = 62`, "mtu": `mtu = 1400`, "allow": `allow = [[pod.a, pod.b]]`, "denied": "allow = []\ndenied = \"refused\"",
	"spread": "answer = pod.b\nspread { tolerance = 0.5 }", "http": `http {}`,
	"latency": `latency { min = "1ms" }`, "throughput": `throughput { min = "1kbit" }`,

	"rules": `rules {
    on  = node.node1
    has = "-j DROP"
  }`, "run": `run {
    on      = node.node1
    command = ["true"]
  }`, "interface": `interface {
    on   = node.node1
    name = "eth0"
  }`, "route": `route {
    on = node.node1
    to = "default"
  }`, "tracked": `tracked { on = node.node1 }`, "seen": `seen { on = node.node1 }`,
}

const claimant = "node \"node1\" {}\npod \"a\" {}\npod \"b\" {\n  port \"http\" { port = 80 }\n}\nexpect \"x\" {\n  from = pod.a\n  to = pod.b\n%s\n}\n"

// A claim about answers where none is expected would hold whatever its value is. HTTP also
// says what is dialed, and sometimes is about any outcome.
func TestClaimsThatCannotBeJudgedAreRejected(t *testing.T) {
	for _, name := range expect.Claims() {
		if slices.Contains([]string{"outcome", "allow", "denied", "http"}, name) || slices.Contains(state.Kinds(), name) {
			continue
		}
		line, known := claimsWritten[name]
		if !known {
			continue // TestEveryClaimOfAnExpectationIsStored says so
		}
		if _, err := ledTo(t, fmt.Sprintf(claimant, line+"\noutcome = \"refused\"")); err == nil && name != "sometimes" {
			t.Errorf("%s is accepted where no answer is expected: reject it (evalExpect in claims/expects.go, or measures)", line)
		}
		if _, err := ledTo(t, fmt.Sprintf(claimant, line+"\nallow = [[pod.a, pod.b]]")); err == nil {
			t.Errorf("%s is accepted in a truth table, whose pairs end differently: reject it (claims/allow.go)", line)
		}
	}
}

// A claim that is read but not stored would hold whatever its value is.
func TestEveryClaimOfAnExpectationIsStored(t *testing.T) {
	nothing, err := ledTo(t, fmt.Sprintf(claimant, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range expect.Claims() {
		line, known := claimsWritten[name]
		if !known {
			t.Errorf("no line claims %q: write one in %q, in this file", name, "claimsWritten")
			continue
		}
		claimed, err := ledTo(t, fmt.Sprintf(claimant, line))
		if err != nil {
			t.Error(err)
			continue
		}
		if reflect.DeepEqual(nothing.expects, claimed.expects) {
			t.Errorf("%s changes nothing in the expectation: store it in expect.Reach (claims/expects.go)", line)
		}
	}
}
