package debian

import (
	"maps"
	"os/exec"
	"runtime"
	"slices"
)

// packages are the programs that netlab, its virtual machines and its tests start, and
// those useful for exploring a lab, by the package that contains them.
var packages = map[string][]string{
	"iproute2": {"ip", "tc", "bridge", "ss", "nstat"},
	"iptables": {"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore",
		"iptables-nft", "iptables-nft-save", "iptables-nft-restore", "ip6tables-nft", "ip6tables-nft-save", "ip6tables-nft-restore",
		"iptables-legacy", "iptables-legacy-save", "iptables-legacy-restore", "ip6tables-legacy", "ip6tables-legacy-save", "ip6tables-legacy-restore"},
	"nftables": {"nft"}, "ipset": {"ipset"}, "nfacct": {"nfacct"}, "ipvsadm": {"ipvsadm"}, "conntrack": {"conntrack"}, "wireguard-tools": {"wg"},
	"iputils-ping": {"ping"}, "iputils-arping": {"arping"}, "curl": {"curl"}, "netcat-openbsd": {"nc"}, "tcpdump": {"tcpdump"}, "ethtool": {"ethtool"},
	"kmod": {"modprobe", "lsmod", "rmmod", "depmod"}, "procps": {"ps", "sysctl", "pgrep", "pkill", "watch", "free", "top"},
	"util-linux": {"unshare", "nsenter", "setpriv", "dmesg", "flock", "more"}, "mount": {"mount", "umount"}, "dash": {"sh", "dash"}, "bash": {"bash"},
	"coreutils": {"cat", "ls", "cp", "mv", "rm", "mkdir", "ln", "chmod", "chown", "chroot", "head", "tail", "sleep", "env", "echo", "printf", "true", "false", "test",
		"id", "seq", "sort", "uniq", "wc", "cut", "tr", "tee", "date", "stat", "readlink", "timeout", "uname", "touch", "stty", "dd", "sync", "nproc", "mktemp", "basename", "dirname", "tty", "kill"},
	"grep": {"grep"}, "sed": {"sed"}, "mawk": {"awk"}, "findutils": {"find", "xargs"}, "tar": {"tar"}, "less": {"less"}, "diffutils": {"diff", "cmp"},
	"apt": {"apt-get", "apt-cache"}, "dpkg": {"dpkg-deb"}, "qemu-system-x86": {"qemu-system-x86_64"}, "qemu-system-arm": {"qemu-system-aarch64"},
	"make": {"make"}, "gcc": {"gcc"}, "nginx": {"nginx"}, "perl-base": {"perl"}, "bind9-dnsutils": {"dig", "nslookup"}, "libc-bin": {"getent", "ldd"},
}

var byProgram = func() map[string]string {
	m := map[string]string{}
	for pkg, programs := range packages {
		for _, p := range programs {
			m[p] = pkg
		}
	}
	return m
}()

// Package is the package that contains a program; empty: not known.
func Package(program string) string { return byProgram[program] }

// Programs are all programs whose package is known, sorted.
func Programs() []string { return slices.Sorted(maps.Keys(byProgram)) }

// NotInstalled says that a program is missing, and how to get it.
func NotInstalled(program string) string {
	text := program + " is not installed"
	if pkg := Package(program); pkg != "" {
		text += "; on Debian: apt-get install " + pkg
	}
	return text
}

// Require fails a test on Linux if a program that it needs is missing; .ci/provision
// test installs them. On other systems the test is skipped.
func Require(t interface {
	Helper()
	Fatal(args ...any)
	Skip(args ...any)
}, programs ...string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Fatal(NotInstalled(p))
		}
	}
}
