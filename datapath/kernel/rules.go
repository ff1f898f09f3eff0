//go:build linux

package kernel

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/kernel/nftables"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// loader runs iptables-restore in namespaces, in parallel up to the number of cores,
// while its owner continues.
type loader struct {
	ctx   context.Context
	group *errgroup.Group
	slots chan struct{}
	nft   map[*space]chan struct{} // closed when the namespace's tables of nf_tables are there
}

func newLoader(ctx context.Context) *loader {
	group, ctx := errgroup.WithContext(ctx)
	return &loader{ctx: ctx, group: group, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), nft: map[*space]chan struct{}{}}
}

// start does the work of a namespace as soon as there is a slot for it, and other work is done.
func (l *loader) start(name string, after <-chan struct{}, work func() error) {
	l.group.Go(func() error {
		if after != nil {
			select {
			case <-after:
			case <-l.ctx.Done():
				return l.ctx.Err()
			}
		}
		select {
		case l.slots <- struct{}{}:
			defer func() { <-l.slots }()
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
		if err := work(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// load brings the tables of a namespace into that state; wait returns the errors. Each
// IP family is one run of one program, atomic per table. In a fresh namespace there is
// nothing to preserve, and iptables-restore is several times faster when it need not
// look.
func (l *loader) load(name string, s *space, edits []iptables.Edit) {
	ns, fresh := s.ns, s.fresh
	l.start(name, l.nft[s], func() error {
		if names := iptables.Accounts(edits); len(names) > 0 {
			if err := ns.Do(func() error { return ensureAccounts(names) }); err != nil {
				return err
			}
		}
		for _, ipv6 := range []bool{false, true} {
			chunks := iptables.Chunks(edits, ipv6, bufferLimit())
			if len(chunks) == 0 {
				continue
			}
			spare := !fresh || len(chunks) > 1
			if err := restore(l.ctx, ns, restoration{ipv6: ipv6, spare: spare, text: strings.Join(chunks, "")}); err != nil {
				return err
			}
		}
		return nil
	})
}

// nftLoad changes the tables of a namespace, in parallel with other work, but before its iptables:
// of base chains with the same priority, the kernel passes packets first to those created last.
// wait returns the errors. What packets see of the edits of one call is one transaction.
func (l *loader) nftLoad(name string, s *space, edits []nft.Edit) {
	if len(edits) == 0 {
		return
	}
	done := make(chan struct{})
	l.nft[s] = done
	l.start(name, nil, func() error {
		defer close(done)
		return s.netfilter(func(sock *socket.Socket) error { return nftables.Apply(l.ctx, sock, edits) })
	})
}

// bufferLimit is how many bytes of rules one transaction may have, or 0 for no limit.
// iptables sends a table in one message and needs a socket buffer of that size; only
// root outside of user namespaces may raise it beyond the default.
var bufferLimit = sync.OnceValue(func() int {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return iptables.UserBuffer
	}
	defer unix.Close(fd)
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 1<<20) != nil {
		return iptables.UserBuffer
	}
	return 0
})

func (l *loader) wait() error { return l.group.Wait() }

func program(ipv6 bool, suffix string) string {
	if ipv6 {
		return "ip6tables-" + suffix
	}
	return "iptables-" + suffix
}

// restoration is one run of iptables-restore.
type restoration struct {
	ipv6  bool
	spare bool // keep chains that the text does not name
	text  string
}

func restore(ctx context.Context, ns *netns.NS, r restoration) error {
	args := []string{"--wait=10"}
	if r.spare {
		args = append(args, "--noflush")
	}
	cmd := exec.CommandContext(ctx, program(r.ipv6, "restore"), args...)
	cmd.Stdin = strings.NewReader(r.text)
	_, err := run(ns, cmd)
	if err == nil {
		return nil
	}
	if line := offending(err.Error(), r.text); line != "" {
		return fmt.Errorf("%w\n  the refused line: %s", err, line)
	}
	return err
}

func run(ns *netns.NS, cmd *exec.Cmd) ([]byte, error) {
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	// Only the start must happen in the namespace: the program stays in it.
	if err := ns.Do(cmd.Start); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("%s: %w", debian.NotInstalled(cmd.Args[0]), err)
		}
		return nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out.Bytes(), nil
}

var lineNumber = regexp.MustCompile(`line:? (\d+)`)

// offending finds the line of the input that the program complained about.
func offending(complaint, text string) string {
	found := lineNumber.FindStringSubmatch(complaint)
	if found == nil {
		return ""
	}
	n, _ := strconv.Atoi(found[1])
	lines := strings.Split(text, "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

// readRules fills in the tables of nodes and routers, except known ones. Only they can have
// rules: the plan has none elsewhere, and a process per pod would be too expensive.
func (k *Kernel) readRules(ctx context.Context, have *plan.Plan, known map[string]bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range have.Netns {
		n := &have.Netns[i]
		if !n.Kind.Filters() || known[n.Name] {
			continue
		}
		group.Go(func() error {
			families := []bool{false}
			if n.IPv6 {
				families = append(families, true)
			}
			for _, ipv6 := range families {
				text, err := run(k.spaces[n.Name].ns, exec.CommandContext(ctx, program(ipv6, "save")))
				if err != nil {
					return fmt.Errorf("%s: %w", n.Name, err)
				}
				for _, name := range incompatible(text) {
					n.NFT = append(n.NFT, nft.Table{Family: familyOf(ipv6), Name: name})
				}
				n.Tables = append(n.Tables, parseSave(text, ipv6)...)
			}
			// A table of which iptables knows only a part is made again.
			n.Tables = slices.DeleteFunc(n.Tables, func(t iptables.Table) bool {
				return slices.ContainsFunc(n.NFT, func(x nft.Table) bool { return x.Family == familyOf(t.IPv6) && x.Name == t.Name })
			})
			return nil
		})
	}
	return group.Wait()
}

func familyOf(ipv6 bool) string {
	if ipv6 {
		return "ip6"
	}
	return "ip"
}

// incompatible are the tables with something that iptables does not have, as iptables-save
// says: # Table `filter' contains incompatible base-chains, use 'nft' tool to list them.
func incompatible(saved []byte) (names []string) {
	for line := range strings.Lines(string(saved)) {
		if rest, ok := strings.CutPrefix(line, "# Table `"); ok && strings.Contains(line, "incompatible") {
			name, _, _ := strings.Cut(rest, "'")
			names = append(names, name)
		}
	}
	return names
}

// parseSave parses the output of iptables-save. Rules stay text: they are compared with
// the saved form of the plan's rules.
func parseSave(text []byte, ipv6 bool) []iptables.Table {
	var tables []iptables.Table
	var t *iptables.Table
	var chains map[string]int
	scan := bufio.NewScanner(bytes.NewReader(text))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := scan.Text()
		switch {
		case strings.HasPrefix(line, "*"):
			tables = append(tables, iptables.Table{IPv6: ipv6, Name: line[1:]})
			t, chains = &tables[len(tables)-1], map[string]int{}
		case strings.HasPrefix(line, ":"):
			name, rest, _ := strings.Cut(line[1:], " ")
			policy, _, _ := strings.Cut(rest, " ")
			if policy == "-" {
				policy = ""
			}
			chains[name] = len(t.Chains)
			t.Chains = append(t.Chains, iptables.Chain{Name: name, Policy: policy})
		case strings.HasPrefix(line, "-A "):
			name, rule, _ := strings.Cut(line[3:], " ")
			if i, ok := chains[name]; ok {
				t.Chains[i].Rules = append(t.Chains[i].Rules, iptables.Rule{Raw: rule})
			}
		}
	}
	return tables
}
