//go:build linux

package deviations

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// List is where one network namespace deviates from what follows from its plan.
type List struct {
	Netns *plan.Netns // as it was read; the deviations are added to it
}

// Of is the list of a network namespace.
func Of(n *plan.Netns) List { return List{Netns: n} }

// Add notes a deviation.
func (d List) Add(x plan.Deviation) { d.Netns.Deviations = append(d.Netns.Deviations, x) }

// IP is a command of ip for the namespace.
func (d List) IP(format string, args ...any) string {
	return "ip -n " + d.Netns.Name + " " + fmt.Sprintf(format, args...)
}

// Foreign notes what is not in the plan; undo is the message that deletes it.
func (d List) Foreign(what, command string, undo ...plan.Request) {
	d.Add(plan.Deviation{What: what, Wrong: plan.Unplanned, Foreign: true, Command: command, Repair: undo})
}

// Missing notes what the kernel had by itself; again are the messages that add it.
func (d List) Missing(what, command string, again ...plan.Request) {
	d.Add(plan.Deviation{What: what, Wrong: plan.Missing, Command: command, Repair: again})
}

// Differs notes a value that is not what it should be.
func (d List) Differs(what string, is, want any, command string, repair ...plan.Request) {
	d.Add(plan.Deviation{What: what, Wrong: fmt.Sprintf("is %v, want %v", is, want), Command: command, Repair: repair})
}

// Sysctl notes a setting.
func (d List) Sysctl(key, is, want string) {
	d.Differs("sysctl "+key, is, want, fmt.Sprintf("ip netns exec %s sysctl -w %s=%s", d.Netns.Name, key, want), plan.Request{Sysctl: plan.Sysctl{Key: key, Value: want}})
}

// Undo is the message that deletes what a message of a dump describes: kind is that of the
// deletion, and the rest stays the same.
func Undo(family int, kind uint16, m []byte) plan.Request {
	b := slices.Clone(m)
	binary.NativeEndian.PutUint16(b[4:], kind)
	return plan.Request{Family: family, Message: asRequest(b)}
}

// asRequest gives a message the flags of a request.
func asRequest(b []byte) []byte {
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	return b
}

// RouteRequest is the request that sends a message of rtnetlink.
func RouteRequest(m socket.Message) plan.Request {
	return plan.Request{Family: unix.NETLINK_ROUTE, Message: m.Data}
}
