//go:build linux

package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// loader runs iptables-restore in namespaces, side by side as far as there are
// cores, while its owner goes on.
type loader struct {
	ctx   context.Context
	group *errgroup.Group
	slots chan struct{}
}

func newLoader(ctx context.Context) *loader {
	group, ctx := errgroup.WithContext(ctx)
	return &loader{ctx: ctx, group: group, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// load makes the tables of a namespace so; errors come with wait. Each IP
// family is one run of one program, atomic per table.
func (l *loader) load(name string, ns *netns.NS, edits []plan.TableEdit) {
	l.group.Go(func() error {
		select {
		case l.slots <- struct{}{}:
			defer func() { <-l.slots }()
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
		for _, ipv6 := range []bool{false, true} {
			text := plan.RestoreText(edits, ipv6)
			if len(text) == 0 {
				continue
			}
			if err := restore(l.ctx, ns, ipv6, text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
}

// whole sets every chain of the tables.
func whole(tables []plan.Table) []plan.TableEdit {
	edits := make([]plan.TableEdit, len(tables))
	for i, t := range tables {
		edits[i] = plan.TableEdit{IPv6: t.IPv6, Name: t.Name, Set: t.Chains}
	}
	return edits
}

func (l *loader) wait() error { return l.group.Wait() }

func program(ipv6 bool, suffix string) string {
	if ipv6 {
		return "ip6tables-" + suffix
	}
	return "iptables-" + suffix
}

// restore runs iptables-restore in ns. It leaves chains alone that the text does
// not name.
func restore(ctx context.Context, ns *netns.NS, ipv6 bool, text string) error {
	cmd := exec.CommandContext(ctx, program(ipv6, "restore"), "--noflush", "--wait=10")
	cmd.Stdin = strings.NewReader(text)
	_, err := run(ns, cmd)
	if err == nil {
		return nil
	}
	if line := offending(err.Error(), text); line != "" {
		return fmt.Errorf("%w\n  the refused line: %s", err, line)
	}
	return err
}

// save returns what iptables-save prints in ns.
func save(ctx context.Context, ns *netns.NS, ipv6 bool) ([]byte, error) {
	return run(ns, exec.CommandContext(ctx, program(ipv6, "save")))
}

// run runs a program in ns and returns its output.
func run(ns *netns.NS, cmd *exec.Cmd) ([]byte, error) {
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	// Only the start must happen in the namespace: the program stays there.
	if err := ns.Do(cmd.Start); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("%s is not installed; on Debian: apt-get install iptables: %w", cmd.Args[0], err)
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
