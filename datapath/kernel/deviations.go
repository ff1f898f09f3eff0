//go:build linux

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// deviations collects where one namespace deviates from what follows from its plan.
type deviations struct {
	n *plan.Netns
}

func (d deviations) add(x plan.Deviation) { d.n.Deviations = append(d.n.Deviations, x) }

// ip is a command of ip for the namespace.
func (d deviations) ip(format string, args ...any) string {
	return "ip -n " + d.n.Name + " " + fmt.Sprintf(format, args...)
}

// foreign notes what is not in the plan; undo is the message that deletes it.
func (d deviations) foreign(what, command string, undo ...plan.Request) {
	d.add(plan.Deviation{What: what, Wrong: plan.Unplanned, Foreign: true, Command: command, Repair: undo})
}

// missing notes what the kernel had by itself; again are the messages that add it.
func (d deviations) missing(what, command string, again ...plan.Request) {
	d.add(plan.Deviation{What: what, Wrong: plan.Missing, Command: command, Repair: again})
}

// differs notes a value that is not what it should be.
func (d deviations) differs(what string, is, want any, command string, repair ...plan.Request) {
	d.add(plan.Deviation{What: what, Wrong: fmt.Sprintf("is %v, want %v", is, want), Command: command, Repair: repair})
}

// sysctl notes a setting.
func (d deviations) sysctl(key, is, want string) {
	d.differs("sysctl "+key, is, want, fmt.Sprintf("ip netns exec %s sysctl -w %s=%s", d.n.Name, key, want), plan.Request{Sysctl: plan.Sysctl{Key: key, Value: want}})
}

// undo is the message that deletes what a message of a dump describes: kind is that of the
// deletion, and the rest stays the same.
func undo(family int, kind uint16, m []byte) plan.Request {
	b := slices.Clone(m)
	binary.NativeEndian.PutUint16(b[4:], kind)
	return plan.Request{Family: family, Message: asRequest(b)}
}

// asRequest gives a message the flags of a request.
func asRequest(b []byte) []byte {
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	return b
}

func routeRequest(m socket.Message) plan.Request {
	return plan.Request{Family: unix.NETLINK_ROUTE, Message: m.Data}
}

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
		_, err := run(r.here.ns, exec.CommandContext(r.ctx, q.Argv[0], q.Argv[1:]...))
		return err
	case q.MulticastRouting != 0:
		return ignore(flushMulticast(q.MulticastRouting), unix.ENOPROTOOPT)
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

// command is one for a shell.
type command string

func (c command) String() string { return string(c) }

// attrsOf are the attributes of a message after a header of its kind, by number.
func attrsOf(m []byte, header int) (map[uint16][]byte, error) {
	start := unix.NLMSG_HDRLEN + header
	if len(m) < start {
		return nil, socket.ErrShort
	}
	all := make(map[uint16][]byte, 16)
	err := socket.EachAttr(m[min(socket.Align(start), len(m)):], func(kind uint16, value []byte) error {
		all[kind] = value
		return nil
	})
	return all, err
}

func number(b []byte) uint32 {
	switch len(b) {
	case 1:
		return uint32(b[0])
	case 2:
		return uint32(binary.NativeEndian.Uint16(b))
	case 4, 8:
		return binary.NativeEndian.Uint32(b)
	}
	return 0
}

func address(b []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(b)
	return a
}

// pristine is what the kernel gives a new namespace: the settings of its links, and others.
type pristine struct {
	inet, inet6 []uint32
	settings    map[string]string
}

// fresh reads them, once, from a namespace made for that.
func (k *Kernel) fresh(h netns.Here) (*pristine, error) {
	if k.pristine != nil {
		return k.pristine, nil
	}
	ns, err := h.Create()
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	sock, err := socket.OpenRoute(k.memory)
	if err != nil {
		return nil, err
	}
	defer sock.Close()
	p := &pristine{settings: map[string]string{}}
	list, err := sock.Dump(unix.RTM_GETLINK, linkDump())
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		attrs, err := attrsOf(m, unix.SizeofIfInfomsg)
		if err != nil {
			return nil, err
		}
		if binary.NativeEndian.Uint32(m[unix.NLMSG_HDRLEN+4:]) == loopback {
			p.inet, p.inet6 = linkSettings(attrs)
		}
	}
	read := func(folder string, names []string) error {
		values, err := k.proc.GetAll(folder, names)
		for i, value := range values {
			p.settings[folder+"."+names[i]] = value
		}
		return err
	}
	for _, s := range settings {
		if err := read(s.folder, s.names); err != nil {
			return nil, err
		}
	}
	for _, tree := range neighTrees {
		if err := read(tree+".lo", resolving); err != nil {
			return nil, err
		}
	}
	k.pristine = p
	return p, nil
}

// loopback is the index of lo in every namespace.
const loopback = 1
