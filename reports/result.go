package reports

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath/flow"
)

// Report is the outcome of one run: the results in the order in which they are to
// be shown, those of a scenario next to each other.
type Report struct {
	Results  []Result
	Duration time.Duration // wall time of the run; 0: the sum over the results
	Paper    bool          // nothing was built: the rules were judged on paper
	NotRun   int           // expectations without a result, since the run was ended
	Wires    []Wire        // of the variations of a matrix
}

func (r Report) total() Seconds {
	if r.Duration > 0 {
		return Seconds(r.Duration)
	}
	var sum Seconds
	for _, result := range r.Results {
		sum += result.Duration
	}
	return sum
}

// Status is the status of an expectation.
type Status string

// The statuses.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
	// Disagreed: the observation differs from the rules on paper. The walker or the kernel
	// is wrong, whatever the expectation claims.
	Disagreed Status = "disagreed"
)

// look is the sign of a status, and how it is painted.
func (s Status) look() (string, style) {
	switch s {
	case Passed:
		return "✓", good
	case Skipped:
		return "-", odd
	case Disagreed:
		return "≠", bad
	}
	return "✗", bad
}

// Result is the result of one expectation. The names in JSON, here and in Row, are a
// contract.
type Result struct {
	Scenario string `json:"scenario"` // its name
	// Variation is the combination of a matrix that was tested (proxy=ipvs); empty: the
	// scenario as written.
	Variation string `json:"variation,omitempty"`
	File      string `json:"file"`
	Line      int    `json:"line,omitempty"`  // of the expect block
	Name      string `json:"name"`            // of the expectation
	Claim     string `json:"claim,omitempty"` // what it claims, in one line
	// Proves are the sentences of other texts, such as requirements, that it is the proof of.
	Proves   []string `json:"proves,omitempty"`
	Status   Status   `json:"status"`
	Reason   string   `json:"reason,omitempty"` // why it was skipped, such as a feature that the kernel lacks
	Duration Seconds  `json:"seconds"`          // wall time, retries included
	Rows     []Row    `json:"rows"`
	// Table is a claim about all pairs of Rows at once, as in ReachJSON; nil: each row is
	// shown.
	Table    *Reachability `json:"table,omitempty"`
	Failure  string        `json:"failure,omitempty"` // what failed apart from the rows, such as a lab that could not be built
	Warnings []string      `json:"warnings,omitempty"`
}

// Seconds is a duration as reports show it.
type Seconds time.Duration

// MarshalJSON rounds to milliseconds: more digits would be noise.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(time.Duration(s).Milliseconds()) / 1000)
}

func (s Seconds) String() string {
	if d := time.Duration(s); d >= time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d ms", time.Duration(s).Milliseconds())
}

// Row is what one dialer observed at one target.
type Row struct {
	Who string `json:"who"` // the dialer
	To  string `json:"to"`  // the target
	OK  bool   `json:"ok"`
	// Connections is how many were made, each of which the claim is about; Again, how many
	// of them were dialed more than once, since what they showed was impossible on paper.
	Connections int          `json:"connections"`
	Again       int          `json:"dialed_again"`
	Outcomes    []Outcomes   `json:"outcomes"` // most frequent first
	Sources     []netip.Addr `json:"sources"`  // of the dialer as the servers saw it
	Answers     []Answers    `json:"answers"`
	TTLs        []int        `json:"ttls,omitempty"`      // of packets as they arrived at servers
	Measured    string       `json:"measured,omitempty"`  // in words, such as a latency; empty: nothing
	Wanted      string       `json:"wanted"`              // in words
	Observed    string       `json:"observed"`            // in words; empty: no packets were sent
	Predicted   string       `json:"predicted,omitempty"` // what the rules do on paper, in words; empty: not predicted
	Disagrees   bool         `json:"disagrees,omitempty"` // the observation was not predicted
	Agents      string       `json:"agents,omitempty"`    // that do the work of the rules predicted from, as in "the proxy's agent, for iptables"; empty: none
	Policies    []string     `json:"policies,omitempty"`  // that decided about the packet, with their places
	Explain     string       `json:"explain,omitempty"`   // the command that follows the packet through the rules
	Rules       []string     `json:"rules,omitempty"`     // that the packet should have met, in the syntax of their tool
	Programs    []Program    `json:"programs,omitempty"`  // of the scenario, at both ends
	// About: the row is about the state of a host, who, rather than about connections. Unknown:
	// paper does not know it.
	About   bool `json:"state,omitempty"`
	Unknown bool `json:"unknown,omitempty"`
}

// Program is a program of the scenario, and what it wrote last.
type Program struct {
	Name  string   `json:"name"`  // of its pod
	State string   `json:"state"` // running, exited 3
	Lines []string `json:"last_lines,omitempty"`
}

// Title names what the row is about, as in "laptop to 192.168.0.11:31380".
func (r Row) Title() string {
	if r.About {
		return r.Who + ", " + r.To
	}
	return r.Who + " to " + r.To
}

// status is that of the row alone; Skipped where nothing is known about the pair: on
// paper, what programs do is not.
func (r Row) status() Status {
	switch {
	case len(r.Outcomes) == 0 && !r.About || r.Unknown:
		return Skipped
	case r.Disagrees:
		return Disagreed
	case !r.OK:
		return Failed
	}
	return Passed
}

// Outcomes counts the connections with the same outcome.
type Outcomes struct {
	Outcome flow.Outcome `json:"outcome"`
	Count   int          `json:"count"`
	Chance  float64      `json:"chance,omitempty"` // on paper: the probability
}

// Answers counts the answers of one agent.
type Answers struct {
	Name   string  `json:"name"`
	Node   string  `json:"node,omitempty"` // where it runs; empty outside the cluster
	Count  int     `json:"count"`
	Chance float64 `json:"chance,omitempty"` // on paper: the probability
}

// share is the number of connections of one kind, or its probability.
func share(count int, chance float64) string {
	if chance != 0 {
		return fmt.Sprintf(" %.3g %%", 100*chance)
	}
	return fmt.Sprintf(" ×%d", count)
}

// lab identifies the lab that the result is from.
func (r Result) lab() [3]string { return [3]string{r.File, r.Scenario, r.Variation} }

// Title is the scenario's name, with its variation in brackets.
func (r Result) Title() string {
	if r.Variation == "" {
		return r.Scenario
	}
	return r.Scenario + " [" + r.Variation + "]"
}

// Place is where the expectation is written: file:line, or the file.
func (r Result) Place() string {
	if r.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// Count is the number of results with a status.
func (r Report) Count(s Status) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == s {
			n++
		}
	}
	return n
}

// scenarios splits the results into those of one scenario each.
func (r Report) scenarios() [][]Result {
	var all [][]Result
	for i, result := range r.Results {
		if i == 0 || result.lab() != r.Results[i-1].lab() {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], result)
	}
	return all
}

// outcome is the cell of the column of that name, with the number of connections.
func (r Row) outcome() string {
	var cells []string
	if r.About {
		switch {
		case r.Unknown:
			return "not predicted"
		case r.wrong():
			return "does not hold"
		}
		return "holds"
	}
	for _, o := range r.Outcomes {
		cell := string(o.Outcome)
		if len(r.Outcomes) > 1 || r.Connections > 1 {
			cell += share(o.Count, o.Chance)
		}
		cells = append(cells, cell)
	}
	if r.Measured != "" && len(r.Outcomes) == 1 {
		cells = append(cells, r.Measured)
	}
	if r.Again > 0 {
		cells = append(cells, r.dialedAgain())
	}
	return orDash(cells)
}

// Again says how many connections were dialed again, or "".
func (r Result) Again() string {
	var all Row
	for _, row := range r.Rows {
		all.Again, all.Connections = all.Again+row.Again, all.Connections+row.Connections
	}
	if all.Again == 0 {
		return ""
	}
	return all.dialedAgain()
}

// dialedAgain says how many of the connections were.
func (r Row) dialedAgain() string {
	return fmt.Sprintf("%d of %d dialed again", r.Again, r.Connections)
}

func (r Row) source() string {
	var cells []string
	for _, a := range r.Sources {
		cells = append(cells, a.String())
	}
	return orDash(cells)
}

func (r Row) answer() string {
	var cells []string
	for _, a := range r.Answers {
		cell := a.Name
		if a.Node != "" && a.Node != a.Name {
			cell += " on " + a.Node
		}
		if len(r.Answers) > 1 {
			cell += share(a.Count, a.Chance)
		}
		cells = append(cells, cell)
	}
	return orDash(cells)
}

func orDash(cells []string) string {
	if len(cells) == 0 {
		return "-"
	}
	return strings.Join(cells, ", ")
}
