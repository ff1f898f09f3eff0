//go:build linux

package xtables

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// Apply edits the tables of a namespace. Each IP family is one run of one
// program, atomic per table. In a fresh namespace there is nothing to preserve, and
// iptables-restore is several times faster when it need not look.
func Apply(ctx context.Context, ns *netns.NS, fresh bool, edits []iptables.Edit) error {
	if names := iptables.Accounts(edits); len(names) > 0 {
		if err := ns.Do(func() error { return EnsureAccounts(names) }); err != nil {
			return err
		}
	}
	for _, ipv6 := range []bool{false, true} {
		chunks := iptables.Chunks(edits, ipv6, bufferLimit())
		if len(chunks) == 0 {
			continue
		}
		spare := !fresh || len(chunks) > 1
		if err := Restore(ctx, ns, Restoration{IPv6: ipv6, Spare: spare, Text: strings.Join(chunks, "")}); err != nil {
			return err
		}
	}
	return nil
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

// Restoration is one run of iptables-restore.
type Restoration struct {
	IPv6  bool
	Spare bool // keep chains that the text does not name
	Text  string
}

// Restore runs iptables-restore in a namespace. Its error names the refused line.
func Restore(ctx context.Context, ns *netns.NS, r Restoration) error {
	args := []string{"--wait=10"}
	if r.Spare {
		args = append(args, "--noflush")
	}
	cmd := exec.CommandContext(ctx, program(r.IPv6, "restore"), args...)
	cmd.Stdin = strings.NewReader(r.Text)
	_, err := Run(ns, cmd)
	if err == nil {
		return nil
	}
	if line := offending(err.Error(), r.Text); line != "" {
		return fmt.Errorf("%w\n  the refused line: %s", err, line)
	}
	return err
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
