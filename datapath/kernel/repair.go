//go:build linux

package kernel

import (
	"errors"
	"os/exec"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/settings"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/kernel/xtables"
	"github.com/netlab/netlab/datapath/plan"
)

// overtaken are the errors of repairing what another repair has repaired already, or taken
// along. What is still wrong afterwards is found when the namespace is read again.
var overtaken = append(slices.Clone(gone), unix.EEXIST, unix.EINVAL, unix.ENETDOWN, unix.ENETUNREACH, unix.EHOSTUNREACH)

// repair puts a deviation right, in the namespace of the thread.
func (r *runner) repair(d *plan.Deviation) error {
	for _, q := range d.Repair {
		if err := r.request(d, q); err != nil {
			return err
		}
	}
	clear(r.here.index) // a link may have another name now
	return nil
}

func (r *runner) request(d *plan.Deviation, q plan.Request) error {
	switch {
	case len(q.Argv) > 0:
		_, err := xtables.Run(r.here.ns, exec.CommandContext(r.ctx, q.Argv[0], q.Argv[1:]...))
		return err
	case q.MulticastRouting != 0:
		return ignore(settings.FlushMulticast(q.MulticastRouting), unix.ENOPROTOOPT)
	case q.Sysctl.Key != "":
		return ignore(r.k.proc.Set(q.Sysctl), unix.ENOENT)
	}
	sock, err := socket.Open(q.Family, r.k.memory)
	if err != nil {
		return err
	}
	defer sock.Close()
	m := socket.Message{Data: q.Message, Excuse: overtaken}
	err = sock.Do(socket.Part(command(d.Command), m))
	if err != nil && errors.Is(err, unix.EBUSY) { // another repair has to come first
		return nil
	}
	return err
}

func ignore(err error, what unix.Errno) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

// command is one for a shell.
type command string

func (c command) String() string { return string(c) }
