//go:build linux

package features

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-iptables/iptables"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/kernel/links"
	"github.com/netlab/netlab/datapath/kernel/nftables"
	"github.com/netlab/netlab/datapath/kernel/procfs"
	"github.com/netlab/netlab/datapath/kernel/qdiscs"
	"github.com/netlab/netlab/datapath/kernel/sets"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/kernel/virtual"
	"github.com/netlab/netlab/datapath/kernel/xfrm"
	"github.com/netlab/netlab/datapath/kernel/xtables"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Missing probes features and returns those that are missing, with the reason. Each is
// tried in a network namespace of its own: versions and configuration files can
// mislead, the kernel's answer does not. The caller needs the same privileges as when
// using them.
func Missing(ctx context.Context, features []feature.Feature) map[feature.Feature]error {
	missing := map[feature.Feature]error{}
	tries := attempts()
	for _, f := range features {
		try, ok := tries[f]
		if table, rule, of := strings.Cut(f.About().Rule, " "); of {
			try, ok = restores(false, table, rule), true
		}
		if !ok {
			continue
		}
		if err := inScratch(ctx, try); err != nil {
			missing[f] = err
		}
	}
	return missing
}

// Accounting reports whether the kernel has accounting objects of netfilter.
func Accounting(ctx context.Context) bool {
	return len(Missing(ctx, []feature.Feature{feature.MatchNFAcct})) == 0
}

// attempt tries one feature. The calling thread is in the scratch namespace.
type attempt func(ctx context.Context, ns *netns.NS) error

func inScratch(ctx context.Context, try attempt) error {
	t := netns.NewThread()
	defer t.Close()
	return t.Run(func(h netns.Here) error {
		ns, err := h.Create()
		if err != nil {
			return err
		}
		defer ns.Close()
		return try(ctx, ns)
	})
}

func attempts() map[feature.Feature]attempt {
	return map[feature.Feature]attempt{
		feature.NetNS:     func(context.Context, *netns.NS) error { return nil }, // inScratch created one
		feature.UserNS:    func(context.Context, *netns.NS) error { return tryUserNamespace() },
		feature.Veth:      device(&netlink.Veth{LinkAttrs: named("try0"), PeerName: "try1"}),
		feature.Bridge:    device(&netlink.Bridge{LinkAttrs: named("try0")}),
		feature.VXLAN:     device(&netlink.Vxlan{LinkAttrs: named("try0"), VxlanId: 1, Port: 8472}),
		feature.Dummy:     device(&netlink.Dummy{LinkAttrs: named("try0")}),
		feature.WireGuard: wireGuard,
		feature.WireGuardOrTun: func(ctx context.Context, ns *netns.NS) error {
			if wireGuard(ctx, ns) == nil {
				return nil
			}
			return tun(ctx, ns)
		},
		// With an address: the module itself creates a tunnel without one.
		feature.IPIP:           device(&netlink.Iptun{LinkAttrs: named("try0"), Local: net.IPv4(192, 0, 2, 1), Remote: net.IPv4(192, 0, 2, 2)}),
		feature.Tun:            tun,
		feature.ESP:            esp,
		feature.Netem:          shaped(plan.Qdisc{Delay: time.Millisecond}),
		feature.TBF:            shaped(plan.Qdisc{Rate: 1_000_000}),
		feature.BrNetfilter:    setting("net.bridge.bridge-nf-call-iptables"),
		feature.Conntrack:      tracking,
		feature.SCTP:           sctp,
		feature.IPSet:          trySet,
		feature.IPVS:           virtualServer,
		feature.NFT:            nftTried("inet"),
		feature.NFTRanges:      nftTried("ranges"),
		feature.NFTCT:          nftTried("ct"),
		feature.NFTFib:         nftTried("fib"),
		feature.NFTNumgen:      nftTried("numgen"),
		feature.NFTNAT:         nftTried("nat"),
		feature.NFTReject:      nftTried("reject"),
		feature.IPTables:       iptablesProgram,
		feature.IP6Tables:      restores(true, "filter", "-A INPUT -j ACCEPT"),
		feature.IPTablesLegacy: iptablesLegacy,
		feature.MatchSet:       matchSet,
		feature.MatchNFAcct:    accounting,
	}
}

func named(name string) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = name
	return a
}

func device(link netlink.Link) attempt {
	return func(context.Context, *netns.NS) error {
		handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer handle.Close()
		return handle.LinkAdd(link)
	}
}

// shaped tries to add delay or a rate limit to the loopback device of the scratch
// namespace.
func shaped(q plan.Qdisc) attempt {
	return func(context.Context, *netns.NS) error {
		s, err := socket.OpenRoute(socket.NewMemory())
		if err != nil {
			return err
		}
		defer s.Close()
		q.Link = "lo"
		return s.Do(socket.Part(&plan.Step{Item: &q}, qdiscs.Add(&q, 1)...))
	}
}

func wireGuard(ctx context.Context, ns *netns.NS) error {
	return device(&netlink.Wireguard{LinkAttrs: named("try0")})(ctx, ns)
}

// esp tries an association of each IP family.
func esp(context.Context, *netns.NS) error {
	for _, addrs := range [][2]string{{"192.0.2.1", "192.0.2.2"}, {"2001:db8::1", "2001:db8::2"}} {
		s := plan.XfrmState{Src: netip.MustParseAddr(addrs[0]), Dst: netip.MustParseAddr(addrs[1]), SPI: 0x1000}
		if err := xfrm.Do(&plan.Step{Verb: plan.Add, Item: &s}); err != nil {
			return err
		}
	}
	return nil
}

func tun(context.Context, *netns.NS) error { return links.TryTUN("try0") }

// setting tries to write a sysctl's own value back to it.
func setting(key string) attempt {
	return func(context.Context, *netns.NS) error {
		p := procfs.FS{FD: -1}
		defer p.Close()
		value, err := p.Get(key)
		if err != nil {
			return err
		}
		if value == "" {
			return fmt.Errorf("no sysctl %s", key)
		}
		return p.Set(plan.Sysctl{Key: key, Value: value})
	}
}

func tracking(context.Context, *netns.NS) error {
	handle, err := netlink.NewHandle(unix.NETLINK_NETFILTER)
	if err != nil {
		return err
	}
	defer handle.Close()
	_, err = handle.ConntrackTableList(netlink.ConntrackTable, unix.AF_INET)
	return err
}

func sctp(context.Context, *netns.NS) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_SCTP)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func trySet(ctx context.Context, _ *netns.NS) error {
	return sets.Run(ctx, socket.NewMemory(), plan.SetCommands{{Verb: "create", Set: &ipset.Set{Name: "try", Type: ipset.HashIP}}})
}

func matchSet(ctx context.Context, ns *netns.NS) error {
	if err := trySet(ctx, ns); err != nil {
		return err
	}
	return restores(false, "filter", "-A INPUT -m set --match-set try src")(ctx, ns)
}

// virtualServer lists the virtual servers, which many kernels forbid in a user
// namespace. It loads the module, as use would.
func virtualServer(context.Context, *netns.NS) error {
	proc := procfs.FS{FD: -1}
	defer proc.Close()
	_, err := virtual.Read(&proc, &virtual.Drains{})
	return err
}

// iptablesProgram checks that the program is installed and new enough for the options
// that plans use.
func iptablesProgram(ctx context.Context, ns *netns.NS) error {
	tool, err := iptables.New()
	if err != nil {
		return fmt.Errorf("%s: %w", debian.NotInstalled("iptables"), err)
	}
	if !tool.HasRandomFully() {
		return errors.New("iptables is older than 1.6.2: MASQUERADE has no --random-fully")
	}
	return restores(false, "filter", "-A INPUT -j ACCEPT")(ctx, ns)
}

func iptablesLegacy(ctx context.Context, ns *netns.NS) error {
	cmd := exec.CommandContext(ctx, "iptables-legacy-restore", "--noflush")
	if os.Getenv("XTABLES_LOCKFILE") == "" {
		cmd.Env = append(os.Environ(), "XTABLES_LOCKFILE=/dev/null") // never the host's
	}
	cmd.Stdin = strings.NewReader("*filter\n-A INPUT -j ACCEPT\nCOMMIT\n")
	_, err := xtables.Run(ns, cmd)
	return err
}

func restores(ipv6 bool, table, rule string) attempt {
	return func(ctx context.Context, ns *netns.NS) error {
		return xtables.Restore(ctx, ns, xtables.Restoration{IPv6: ipv6, Text: "*" + table + "\n" + rule + "\nCOMMIT\n"})
	}
}

// nftTried tries a table with a base chain and one more object or rule in it.
func nftTried(what string) attempt {
	return func(ctx context.Context, ns *netns.NS) error {
		chain := nft.Chain{Name: "try", Type: "filter", Hook: "input", Policy: "accept"}
		table := nft.Table{Family: "inet", Name: "try"}
		rule := func(exprs ...nft.Expr) { chain.Rules = []nft.Rule{{Exprs: exprs}} }
		switch what {
		case "ranges":
			table.Sets = []nft.Set{{Name: "try", Interval: true, Key: []nft.Type{nft.Proto, nft.Port},
				Elements: []nft.Element{{Key: []nft.Value{nft.Protocol("tcp"), nft.Range(80, 90)}}}}}
		case "ct":
			rule(nft.CTState{States: []string{"established"}})
		case "fib":
			rule(nft.Match{Field: nft.FibSrcType, Value: nft.Number(nft.Local)})
		case "numgen":
			rule(nft.Match{Field: nft.Random(2), Value: nft.Number(0)})
		case "reject":
			rule(nft.Reject{With: "icmpx port-unreachable"})
		case "nat":
			after := nft.Chain{Name: "after", Type: "nat", Hook: "postrouting", Priority: 100, Policy: "accept",
				Rules: []nft.Rule{{Exprs: []nft.Expr{nft.Masquerade{FullyRandom: true}}}}}
			table.Chains = append(table.Chains, after)
			chain.Type, chain.Hook, chain.Priority = "nat", "prerouting", -100
			rule(nft.DNAT{To: nft.Addr(netip.AddrFrom4([4]byte{192, 0, 2, 1}))})
		}
		table.Chains = append(table.Chains, chain)
		var sock *socket.Socket
		if err := ns.Do(func() (err error) { sock, err = nftables.Open(); return err }); err != nil {
			return err
		}
		defer sock.Close()
		return nftables.Apply(ctx, sock, nft.Create([]nft.Table{table}))
	}
}

// tryUserNamespace starts a program that does nothing in a new user namespace. The
// namespace counts as working only with the privilege to create network namespaces in
// it, which some systems withhold.
func tryUserNamespace() error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return cmd.Run()
}

func accounting(context.Context, *netns.NS) error { return xtables.EnsureAccounts([]string{"try"}) }
