package vm

// tool is a program that the guest should have.
type tool struct {
	name     string
	pkg      string // that has it, in Debian
	required bool   // no scenario runs without it
}

// tools are the programs that labs start, and those with which a person looks around
// or a test prepares itself.
func tools() []tool {
	list := []tool{
		{"modprobe", "kmod", true}, {"ip", "iproute2", true}, {"iptables", "iptables", true},
	}
	for pkg, names := range map[string][]string{
		"iptables": {"iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore",
			"iptables-nft", "iptables-nft-save", "iptables-nft-restore", "ip6tables-nft", "ip6tables-nft-save", "ip6tables-nft-restore",
			"iptables-legacy", "iptables-legacy-save", "iptables-legacy-restore", "ip6tables-legacy", "ip6tables-legacy-save", "ip6tables-legacy-restore"},
		"iproute2": {"tc", "bridge", "ss", "nstat"}, "nftables": {"nft"}, "ipset": {"ipset"}, "ipvsadm": {"ipvsadm"},
		"conntrack": {"conntrack"}, "wireguard-tools": {"wg"}, "kmod": {"lsmod", "rmmod", "depmod"}, "procps": {"ps", "sysctl", "pgrep", "pkill", "watch", "free", "top"},
		"util-linux": {"unshare", "nsenter", "setpriv", "mount", "umount", "dmesg", "flock", "more"}, "dash": {"sh", "dash"}, "bash": {"bash"},
		"coreutils": {"cat", "ls", "cp", "mv", "rm", "mkdir", "ln", "chmod", "chown", "head", "tail", "sleep", "env", "echo", "printf", "true", "false", "test",
			"id", "seq", "sort", "uniq", "wc", "cut", "tr", "tee", "date", "stat", "readlink", "timeout", "uname", "touch", "stty", "dd", "sync", "nproc", "mktemp", "basename", "dirname", "tty", "kill"},
		"grep": {"grep"}, "sed": {"sed"}, "mawk": {"awk"}, "findutils": {"find", "xargs"}, "tar": {"tar"}, "less": {"less"}, "diffutils": {"diff", "cmp"},
		"iputils-ping": {"ping"}, "curl": {"curl"}, "netcat-openbsd": {"nc"}, "tcpdump": {"tcpdump"}, "ethtool": {"ethtool"}, "iputils-arping": {"arping"},
	} {
		for _, name := range names {
			list = append(list, tool{name: name, pkg: pkg})
		}
	}
	return list
}

// toolDirs are where tools are looked for: an ordinary user's PATH lacks half of
// them.
func toolDirs() []string {
	return []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
}

// guestPath is PATH inside.
const guestPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// pluginDirs are folders of what programs load by name while they run: matches and
// targets of iptables. Patterns of filepath.Glob.
func pluginDirs() []string {
	return []string{"/usr/lib/*/xtables", "/usr/lib/xtables", "/usr/lib64/xtables", "/usr/lib/*/libnss_files.so.2", "/lib/terminfo", "/usr/share/terminfo/x/xterm*", "/usr/share/terminfo/l/linux"}
}

// configFiles are copied as they are, where they are there: names of protocols and
// services, and what labels of connection tracking and routing tables mean.
func configFiles() []string {
	return []string{"/etc/protocols", "/etc/services", "/etc/ethertypes", "/etc/iproute2", "/usr/share/iproute2", "/etc/alternatives"}
}

// accounts are /etc/passwd and /etc/group of the guest: root, somebody ordinary, and
// nobody.
const (
	accounts = "root:x:0:0:root:/root:/bin/sh\ntester:x:1000:1000:tester:/home/tester:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
	groups   = "root:x:0:\ntester:x:1000:\nnogroup:x:65534:\n"
)
