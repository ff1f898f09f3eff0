//go:build linux

package xtables

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/netns"
)

func program(ipv6 bool, suffix string) string {
	if ipv6 {
		return "ip6tables-" + suffix
	}
	return "iptables-" + suffix
}

// Run runs a program in a namespace, and returns what it prints.
func Run(ns *netns.NS, cmd *exec.Cmd) ([]byte, error) {
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
