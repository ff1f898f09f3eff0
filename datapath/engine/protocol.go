package engine

import (
	"time"

	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
)

// Meta is what a lab reports about itself. The engine stores it without looking inside,
// except for Hosts.
type Meta struct {
	Name     string
	File     string   // absolute path of the scenario
	Vars     []string // that it was made with: NAME=VALUE
	VarFiles []string // absolute paths
	// AllowPaths are folders that the scenario may read besides its own, as absolute paths.
	AllowPaths []string
	// HostPrograms lets the programs of the scenario have this machine's files and rights.
	HostPrograms bool
	Fault        string // that is staged; "": none
	Nodes        int
	Pods         int
	Clients      int
	Routers      int
	Services     int
	Inventory    []byte     // JSON, for netlab inspect
	Hosts        []byte     // the lab's names in the format of /etc/hosts
	API          inside.API // that it serves
}

// Info is what a running lab reports on request.
type Info struct {
	Meta
	State   string // running, or changing while an Apply is under way
	Started time.Time
	RSS     int64 // resident memory of the engine, in bytes
	// Draining are the real servers removed from the plan that still have connections;
	// unknown while the lab is changing.
	Draining []Draining
	// Check is the result of the check after the last Apply; empty while that is under
	// way.
	Check Check
	// Programs are those of the scenario, by name.
	Programs []inside.Program
	// Checks are what load balancers have found out about nodes.
	Checks []inside.Checked
	// Sessions are those of BGP speakers, by namespace and peer.
	Sessions []inside.Session
}

// Draining is a real server of weight 0 that is deleted when its connections have
// ended.
type Draining struct {
	Netns    string `json:"netns"`
	Virtual  string `json:"virtual"` // address and port
	Proto    string `json:"protocol"`
	Real     string `json:"real"` // address and port
	Active   int    `json:"active"`
	Inactive int    `json:"inactive"` // connections that are closing; both as of the last check, every minute
}

// Applied is the result of an Apply.
type Applied struct {
	Lines   []string // what was changed, as command lines; only on request
	Summary string   // one line; empty: nothing changed
}

type verb string

const (
	verbApply verb = "apply"
	verbInfo  verb = "info"
	verbRead  verb = "read"
	verbCount verb = "count"
	verbProbe verb = "probe"
	verbDown  verb = "down"
	verbExec  verb = "exec"
	verbTry   verb = "features"
	verbLogs  verb = "logs"
	verbWire  verb = "wire"
	verbWatch verb = "watch"
	verbAPI   verb = "api"
)

// request is what a client sends, once per connection. An encoded plan follows it on the
// connection: gob would copy its megabytes twice on either side.
type request struct {
	Verb verb
	Size int    // of the plan that follows, in bytes
	plan string // the plan that followed
	// Objects says that those of the API follow the plan, when they are made.
	Objects bool
	objects <-chan []byte
	Meta    Meta
	Lines   bool
	All     bool // with what agents have made
	Flows   []flow.Flow
	Wire    Wire
	Watch   Watch
	Command inside.Command
	After   map[string]int64 // positions in the outputs of programs
	Wait    bool             // for more of them
}

// reply is what the engine answers, once per connection.
type reply struct {
	Err          string
	Code         string // of an error that callers distinguish
	Applied      Applied
	Info         Info
	Have         []byte // encoded plan: what is there
	Want         []byte // encoded plan: what was applied
	Counted      []plan.Counted
	Observations []flow.Observation
	Sights       []flow.Sight
	Sent         uint64 // bytes
	Outputs      []inside.Output
	Program      *inside.ProgramError
	Exit         int
	Missing      map[string]string // feature: why it is missing
}

// signalled asks the engine to send a signal to the running command.
type signalled struct{ Signal int }
