//go:build linux

package xtables

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/procfs"
	"github.com/netlab/netlab/datapath/plan"
)

// iptables-legacy has rules of its own beside those of nf_tables, and the kernel follows
// both. Only a socket option lists them (include/uapi/linux/netfilter_ipv4/ip_tables.h).
const (
	getInfo, getEntries = 64, 65
	nameSize            = 32 // XT_TABLE_MAXNAMELEN
	infoSize            = nameSize + 4 + 5*4 + 5*4 + 4 + 4
	entriesHeader       = 40 // struct ipt_get_entries without its entries
	targetHeader        = 32 // struct xt_entry_target
	accept              = -2 // a verdict: -NF_ACCEPT - 1
)

// legacyFamily is iptables or ip6tables.
type legacyFamily struct {
	socket  int
	level   int
	entry   int    // the size of struct ipt_entry or ip6t_entry
	names   string // the file that lists the tables that were ever used
	program string
}

var legacyFamilies = []legacyFamily{
	{unix.AF_INET, unix.SOL_IP, 112, "thread-self/net/ip_tables_names", "iptables-legacy"},
	{unix.AF_INET6, unix.SOL_IPV6, 168, "thread-self/net/ip6_tables_names", "ip6tables-legacy"},
}

// builtin are the chains of a table, by the number of their hook.
var builtin = []string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}

// Legacy notes rules and policies of iptables-legacy where plans have none, in the calling
// thread's namespace.
func Legacy(d deviations.List, proc *procfs.FS, kind plan.Kind) error {
	if kind.Filters() && plansUseLegacy() {
		return nil // they are read with iptables-save
	}
	for _, f := range legacyFamilies {
		names, err := proc.Read(f.names)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, table := range strings.Fields(names) {
			hooks, pristine, err := f.read(table)
			if err != nil {
				return err
			}
			if pristine {
				continue
			}
			commands := [][]string{{f.program, "-t", table, "-F"}, {f.program, "-t", table, "-X"}}
			for h, chain := range builtin {
				if hooks&(1<<h) != 0 {
					commands = append(commands, []string{f.program, "-t", table, "-P", chain, "ACCEPT"})
				}
			}
			x := plan.Deviation{What: f.program + " table " + table, Wrong: plan.Unplanned, Foreign: true}
			for _, argv := range commands {
				x.Repair = append(x.Repair, plan.Request{Argv: argv})
			}
			x.Command = "ip netns exec " + d.Netns.Name + " " + strings.Join(commands[0], " ")
			d.Add(x)
		}
	}
	return nil
}

// plansUseLegacy reports whether iptables is iptables-legacy on this machine.
var plansUseLegacy = sync.OnceValue(func() bool {
	path, err := exec.LookPath(program(false, "save"))
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	return err == nil && strings.Contains(filepath.Base(path), "legacy")
})

// read reports the hooks of a table, and whether it is as the kernel made it: without a rule,
// and all policies accept.
func (f legacyFamily) read(table string) (hooks uint32, pristine bool, err error) {
	fd, err := unix.Socket(f.socket, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return 0, false, err
	}
	defer unix.Close(fd)
	info := make([]byte, infoSize)
	copy(info[:nameSize-1], table)
	if err := f.option(fd, getInfo, info); err != nil {
		return 0, false, err
	}
	field := func(i int) int { return int(binary.NativeEndian.Uint32(info[nameSize+4*i:])) }
	hooks = uint32(field(0))
	size := field(12)
	all := make([]byte, entriesHeader+size)
	copy(all[:nameSize-1], table)
	binary.NativeEndian.PutUint32(all[nameSize:], uint32(size))
	if err := f.option(fd, getEntries, all); errors.Is(err, unix.EAGAIN) {
		return hooks, false, nil // just changed
	} else if err != nil {
		return 0, false, err
	}
	if entries := field(11); entries != len(chainsOf(hooks))+1 { // and one that ends the table
		return hooks, false, nil
	}
	for _, h := range chainsOf(hooks) {
		policy := entriesHeader + field(6+h) + f.entry + targetHeader
		if policy+4 > len(all) || int32(binary.NativeEndian.Uint32(all[policy:])) != accept {
			return hooks, false, nil
		}
	}
	return hooks, true, nil
}

func chainsOf(hooks uint32) (list []int) {
	for h := range builtin {
		if hooks&(1<<h) != 0 {
			list = append(list, h)
		}
	}
	return list
}

func (f legacyFamily) option(fd, name int, b []byte) error {
	size := uint32(len(b))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(f.level), uintptr(name), uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
