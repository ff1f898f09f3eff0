//go:build linux

package inside

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/agents/nameserver"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/plan/zone"
)

// names is the name server of a namespace. Its records are kept while it does not run.
type names struct {
	server  *nameserver.Server // nil: none
	records []zone.Record
}

// begin starts the server in the namespace of the thread, on its sockets: at one address, or at
// all.
func (n *names) begin(ipv6 bool, a occupant.Agent) error {
	n.end()
	family := "4"
	if ipv6 {
		family = "" // one socket for both
	}
	i := slices.IndexFunc(a.Listen, func(l occupant.Listen) bool { return l.Protocol == "udp" })
	if i < 0 {
		return fmt.Errorf("no udp port")
	}
	port := int(a.Listen[i].Port)
	host := "" // all addresses
	if a.At.IsValid() {
		family, host = "", a.At.String()
	}
	// An address that is local by a route alone is none that IPv6 lets a socket have otherwise.
	free := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		if !a.At.Is6() {
			return nil
		}
		var refused error
		err := c.Control(func(fd uintptr) { refused = unix.SetsockoptInt(int(fd), unix.SOL_IPV6, unix.IPV6_FREEBIND, 1) })
		return errors.Join(err, refused)
	}}
	where := net.JoinHostPort(host, strconv.Itoa(port))
	udp, err := free.ListenPacket(context.Background(), "udp"+family, where)
	if err != nil {
		return err
	}
	tcp, err := free.Listen(context.Background(), "tcp"+family, where)
	if err != nil {
		udp.Close()
		return err
	}
	n.server = nameserver.Serve(udp, tcp)
	n.server.Change(n.records, nil)
	return nil
}

func (n *names) change(add, remove []zone.Record) {
	if len(add)+len(remove) == 0 {
		return
	}
	gone := make(map[zone.Record]bool, len(remove))
	for _, r := range remove {
		gone[r.Key()] = true
	}
	// A clone: running hands out the list.
	n.records = slices.DeleteFunc(slices.Clone(n.records), func(r zone.Record) bool { return gone[r.Key()] })
	n.records = append(n.records, add...)
	slices.SortStableFunc(n.records, zone.Record.Compare)
	if n.server != nil {
		n.server.Change(add, remove)
	}
}

func (n *names) end() {
	if n.server != nil {
		n.server.Close()
		n.server = nil
	}
}

// resolve notes the resolvers of pods.
func (o *occupants) resolve(add, remove []occupant.Resolver) {
	if len(add)+len(remove) == 0 {
		return
	}
	o.resolvers = slices.DeleteFunc(slices.Clone(o.resolvers), func(r occupant.Resolver) bool {
		same := func(x occupant.Resolver) bool { return x.Pod == r.Pod }
		return slices.ContainsFunc(remove, same) || slices.ContainsFunc(add, same)
	})
	o.resolvers = append(o.resolvers, add...)
	slices.SortFunc(o.resolvers, func(a, b occupant.Resolver) int { return strings.Compare(a.Pod, b.Pod) })
}

// etc is what programs in a lab find in /etc that the machine has otherwise.
type etc struct {
	hosts    []byte
	resolver occupant.Resolver // zero: that of all programs of the lab
	// authority is the certificate of one that programs trust beside the machine's; nil: none.
	authority []byte
}

// etcOf is that of a pod in a namespace, or of the node or client itself.
func (in *Lab) etcOf(netns, pod string) etc {
	e := etc{hosts: *in.hosts.Load()}
	if text := in.trusted.Load(); text != nil {
		e.authority = *text
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if o := in.spaces[netns]; o != nil && pod != "" {
		for _, r := range o.resolvers {
			if r.Pod == pod {
				e.hosts, e.resolver = []byte(r.Hosts), r
			}
		}
	}
	return e
}

// mount shows it to the calling thread, which has mounts of its own. It is a convenience, so
// that refusals, as in some containers, are not errors.
func (e etc) mount() {
	hosts := "/run/netlab-hosts"
	if e.resolver.Pod != "" {
		hosts += "-" + strings.ReplaceAll(e.resolver.Pod, "/", ".")
	}
	if os.WriteFile(hosts, e.hosts, 0o644) == nil {
		_ = unix.Mount(hosts, "/etc/hosts", "", unix.MS_BIND, "")
	}
	trust(e.authority)
	if e.resolver.Pod == "" {
		return
	}
	file := "/run/netlab-resolv-" + strings.ReplaceAll(e.resolver.Pod, "/", ".") + ".conf"
	if os.WriteFile(file, []byte(e.resolver.Conf), 0o644) == nil {
		mountResolver(file)
	}
}

// resolvConf is where libraries look for name servers.
const resolvConf = "/etc/resolv.conf"

// mountResolver mounts a file over resolv.conf. That may be a link into what was /run before,
// where nothing is now.
func mountResolver(file string) {
	if to, err := os.Readlink(resolvConf); err == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(resolvConf), to)
		}
		if _, err := os.Stat(to); err != nil && strings.HasPrefix(to, "/run/") && os.MkdirAll(filepath.Dir(to), 0o755) == nil {
			_ = os.WriteFile(to, nil, 0o644)
		}
	}
	_ = unix.Mount(file, resolvConf, "", unix.MS_BIND, "")
}
