//go:build linux

package inside

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/agents/kubeapi"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// API is what a lab serves as a server of the Kubernetes API, read only. It is no part of the
// plan, like the control socket: no packet of the lab goes there.
type API struct {
	Version string // of Kubernetes
	Born    string // stands for the time at which an object was made
	// Objects makes a line of JSON for each object. The client calls it while the engine is at
	// work on a plan; it is not there in what the engine reports.
	Objects func() []byte
	// Netns are the namespaces in which it is served, at occupant.APIAddress.
	Netns []string
}

// Publish serves objects in all namespaces in which nobody else has the port.
func (in *Lab) Publish(a API, objects []byte, space func(name string) (*netns.NS, error)) error {
	if a.Version == "" {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.api == nil {
		in.api = kubeapi.New(a.Version, a.Born)
	}
	if objects != nil {
		if err := in.api.Set(objects); err != nil {
			return err
		}
	}
	var failed []error
	var thread *netns.Thread
	for _, name := range a.Netns {
		ns, err := space(name)
		if err != nil || in.at(name).door != nil {
			continue
		}
		if thread == nil {
			thread = netns.NewThread()
			defer thread.Close()
		}
		var l net.Listener
		err = thread.Run(func(h netns.Here) error {
			err := h.Enter(ns)
			if err == nil {
				l, err = net.Listen("tcp4", occupant.APIAddress.String())
			}
			return err
		})
		switch {
		case err == nil:
			in.at(name).door = in.api.Open(l)
		case !errors.Is(err, unix.EADDRINUSE):
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}

// API is its server; nil: it has published nothing yet.
func (in *Lab) API() *kubeapi.Server {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.api
}

// makeWay closes the door to the API if an agent or a program wants its port.
func (o *occupants) makeWay(add *plan.Netns) {
	if o.door == nil {
		return
	}
	wanted := func(listen []occupant.Listen) bool {
		for _, l := range listen {
			if l.Port == occupant.APIAddress.Port() && flow.Protocol(l.Protocol) == flow.TCP {
				return true
			}
		}
		return false
	}
	for _, a := range add.Agents {
		if wanted(a.Listen) {
			o.shut()
		}
	}
	for _, x := range add.Execs {
		if wanted(x.Listen) {
			o.shut()
		}
	}
}

// shut closes the door to the API, with all connections through it.
func (o *occupants) shut() {
	if o.door != nil {
		_ = o.door.Close()
		o.door = nil
	}
}
