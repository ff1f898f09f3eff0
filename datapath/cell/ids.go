//go:build linux

package cell

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

const (
	// nobody is the user and the group that own nothing (Debian policy 9.2.2).
	nobody = 65534
	// strangers is the first of the IDs that stand for the other users of a cell. Nobody
	// is given IDs of that size (systemd's UIDS-GIDS.md ends at 0x7fffffff).
	strangers = 0x70000000
)

// Owner is the user and group, as the caller sees them, that root in a cell is.
func Owner() int {
	if mapped("/proc/self/uid_map", nobody) && mapped("/proc/self/gid_map", nobody) {
		return nobody
	}
	return 0 // of the user namespace in which the caller is root, and all that there is
}

// mappings are the IDs of a cell whose root is an owner.
func mappings(file string, owner int) []syscall.SysProcIDMap {
	list := []syscall.SysProcIDMap{{ContainerID: 0, HostID: owner, Size: 1}}
	if owner != 0 && mapped(file, strangers+nobody) {
		list = append(list, syscall.SysProcIDMap{ContainerID: 1, HostID: strangers + 1, Size: nobody})
	}
	return list
}

// withUsers is how a process begins in a user namespace of its own, whose root is an owner.
func withUsers(owner int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: mappings("/proc/self/uid_map", owner), GidMappings: mappings("/proc/self/gid_map", owner),
		GidMappingsEnableSetgroups: owner != 0, Credential: &syscall.Credential{NoSetGroups: owner == 0}}
}

// mapped reports whether the user namespace of this process has an ID (user_namespaces(7)).
// When that cannot be read it says yes: what is then refused starts no program.
func mapped(file string, id int) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		first, err1 := strconv.Atoi(f[0])
		count, err2 := strconv.Atoi(f[2])
		if err1 == nil && err2 == nil && id >= first && id-first < count {
			return true
		}
	}
	return false
}
