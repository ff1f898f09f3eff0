package vm

import (
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/debian"
)

// required are the programs without which no scenario runs in the guest.
var required = []string{"ip", "iptables", "modprobe"}

// tools are the programs that the guest should have: those that labs start, and those
// useful for exploring or for preparing tests.
func tools() []string {
	outside := []string{"apt", "dpkg", "gcc", "make", "qemu-system-arm", "qemu-system-x86"}
	return slices.DeleteFunc(debian.Programs(), func(p string) bool { return slices.Contains(outside, debian.Package(p)) })
}

// toolDirs are where tools are looked for: an ordinary user's PATH lacks half of
// them.
func toolDirs() []string { return strings.Split(guestPath, ":") }

// guestPath is PATH in the guest.
const guestPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// pluginDirs are folders of what programs load by name while they run: matches and
// targets of iptables. Patterns of filepath.Glob.
func pluginDirs() []string {
	return []string{"/usr/lib/*/xtables", "/usr/lib/xtables", "/usr/lib64/xtables", "/usr/lib/*/libnss_files.so.2", "/lib/terminfo", "/usr/share/terminfo/x/xterm*", "/usr/share/terminfo/l/linux"}
}

// configFiles are copied unchanged if they exist: names of protocols and services, and
// of connection tracking labels and routing tables.
func configFiles() []string {
	return []string{"/etc/protocols", "/etc/services", "/etc/ethertypes", "/etc/iproute2", "/usr/share/iproute2", "/etc/alternatives"}
}

// accounts are /etc/passwd and /etc/group of the guest: root, an ordinary user, and
// nobody.
const (
	accounts = "root:x:0:0:root:/root:/bin/sh\ntester:x:1000:1000:tester:/home/tester:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
	groups   = "root:x:0:\ntester:x:1000:\nnogroup:x:65534:\n"
)
