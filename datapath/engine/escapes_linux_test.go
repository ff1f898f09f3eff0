package engine

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/image"
	"github.com/netlab/netlab/datapath/image/imagetest"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// escape is something that a program in a cell must not get done. Its script exits with
// status 0 if it did. MARK is a folder of the machine, with a file secret in it.
type escape struct {
	name, script string
	works        who // outside of a cell: so that the script does what it says
}

type who int

const (
	asRoot   who = 1 + iota // as root of the machine, where it is not a container itself
	asAnyone                // as root in a user namespace, too
	unproven                // it would do harm, or what it attacks is closed to all
)

// call is a script that succeeds unless a system call is refused, whatever else is wrong with
// its arguments.
func call(number uintptr, args ...int) string {
	words := fmt.Sprint(number)
	for _, a := range args {
		words += fmt.Sprintf(", %d", a)
	}
	return fmt.Sprintf(`perl -e 'use Errno; $r = syscall(%s); exit($r == -1 && ($!{EPERM} || $!{ENOSYS} || $!{EACCES}) ? 1 : 0)'`, words)
}

var escapes = []escape{
	// Files.
	{"read a file that others left in /tmp", `grep -q secret MARK/secret`, asAnyone},
	{"write there", `echo x >MARK/written`, asAnyone},
	{"read the passwords", `grep -q . /etc/shadow`, asRoot},
	{"read the files of root", `ls -A /root | grep -q .`, unproven},
	{"read those of people", `ls -A /home | grep -q .`, unproven},
	{"write programs", `test -w /usr/bin`, asRoot},
	{"write settings", `test -w /etc/hostname || test -w /etc/passwd`, asRoot},
	{"make settings writable again", `mount -o remount,rw /etc && touch /etc/netlab-exam`, unproven},
	{"uncover what is hidden", `umount /etc/shadow || umount /proc/kcore || umount /run`, unproven},
	{"leave the root directory", `mkdir /exam/c; perl -e 'open D, "/"; chroot "/exam/c"; chdir D; chdir ".." for 1..9; chroot "."; exit(-e "MARK/secret" ? 0 : 1)'`, asAnyone},
	{"open a file by its number", call(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0), unproven},
	{"through the process that is first", `test -e /proc/1/root/MARK/secret`, asAnyone},
	{"through any process", `for p in /proc/[0-9]*; do test -e $p/root/MARK/secret -o -e $p/cwd/MARK/secret && exit 0; done; exit 1`, asAnyone},
	{"through inherited descriptors", `for f in /proc/$$/fd/*; do case ${f##*/} in 0|1|2|10|255) ;; *) exit 0;; esac; done; exit 1`, unproven},
	// Devices and the kernel.
	{"make a device", `mknod /exam/mem c 1 1`, asRoot},
	{"find a device", `ls /dev | grep -Eq '^(sd|vd|hd|nvme|loop|mem|kmsg|port|kvm|fuse|mapper|net|console|rtc|uinput)'`, asAnyone},
	{"the core pattern", `cat /proc/sys/kernel/core_pattern >/exam/p && cat /exam/p >/proc/sys/kernel/core_pattern`, asRoot},
	{"settings of the machine", `cat /proc/sys/vm/swappiness >/exam/p && cat /exam/p >/proc/sys/vm/swappiness`, asRoot},
	{"magic keys", `true >>/proc/sysrq-trigger`, unproven},
	{"sysfs", `test -w /sys/kernel/uevent_helper -o -w /sys/power/state -o -w /sys/kernel/mm/ksm/run`, asRoot},
	{"control groups", `test -w /sys/fs/cgroup/cgroup.procs || ls /sys/fs/cgroup | grep -q .`, unproven},
	{"the kernel log", `dmesg | grep -q . || head -c1 /dev/kmsg | grep -q .`, asRoot},
	{"memory of the kernel", `head -c1 /proc/kcore | grep -q .`, unproven},
	{"keys of others", `grep -q . /proc/keys`, unproven},
	{"load a module", call(unix.SYS_INIT_MODULE, 0, 0, 0), unproven},
	{"replace the kernel", call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 99), unproven},
	{"restart the machine", call(unix.SYS_REBOOT, 1, 2, 3, 4), asRoot},
	{"the clock", call(unix.SYS_ADJTIMEX, 0), asAnyone},
	{"swap", call(unix.SYS_SWAPON, 0, 0), unproven},
	{"process accounting", call(unix.SYS_ACCT, 1), unproven},
	{"programs in the kernel", call(unix.SYS_BPF, 0, 0, 0), asRoot},
	{"performance events", call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0), asAnyone},
	{"io_uring", call(unix.SYS_IO_URING_SETUP, 0, 0), asAnyone},
	{"userfaultfd", call(unix.SYS_USERFAULTFD, 99), unproven},
	{"keys", call(unix.SYS_KEYCTL, 0, -3, 0), asAnyone},
	{"watch all files", call(unix.SYS_FANOTIFY_INIT, 0, 0), asRoot},
	// Namespaces and mounts.
	{"mount", `mount -t tmpfs x /mnt`, asAnyone},
	{"mount by the new calls", call(unix.SYS_FSOPEN, 0, 0), asAnyone},
	{"a user namespace", `unshare --user true`, unproven},
	{"a mount namespace", `unshare --mount true`, asAnyone},
	{"a network namespace", `unshare --net true`, asAnyone},
	{"clone3", call(unix.SYS_CLONE3, 0, 0), asAnyone},
	{"links of the namespace at the other end", `perl -MSocket -e 'socket S, 16, SOCK_RAW, 0; send S, pack("LSSLL x16 SSl", 40, 18, 0x301, 1, 0, 8, 46, 0), 0; recv S, $b, 65536, 0; exit($b =~ /up-to/ ? 0 : 1)'`, asAnyone},
	{"the namespaces of others", `for p in /proc/[0-9]*; do nsenter --net=$p/ns/net true && exit 0; done; exit 1`, asAnyone},
	// Processes.
	{"see the engine", `grep -lq NLAB_ROLE=engine /proc/[0-9]*/environ`, asAnyone},
	{"see who started the lab", `kill -0 CREATOR`, unproven},
	{"trace", call(unix.SYS_PTRACE, 0, 0, 0, 0), asAnyone},
	{"read memory", call(unix.SYS_PROCESS_VM_READV, 1, 0, 0, 0, 0, 0), asAnyone},
	{"the environment of whoever started the lab", `(env; cat /proc/[0-9]*/environ) | grep -aq netlab-exam-secret`, asAnyone},
	{"privileges by running a program", `grep -q '^NoNewPrivs:.0' /proc/self/status`, unproven},
	{"privileges over the machine", `perl -ne 'if (/^CapBnd:\s*(\S+)/) { $all = hex substr $1, -8 } END { exit($all & 0x0ffb0000 ? 0 : 1) }' /proc/self/status`, asAnyone},
	{"a higher priority", `test "$(nice -n -10 nice)" = -10`, asRoot},
	// Sockets.
	{"a socket of the machine by its path", `perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0; exit(connect(S, pack_sockaddr_un("MARK/socket")) ? 0 : 1)'`, asAnyone},
	{"an abstract one", `perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0; exit(connect(S, pack_sockaddr_un("\0ABSTRACT")) ? 0 : 1)'`, unproven},
	// What it may take.
	{"many processes", `perl -e 'while ($n < 2500) { $p = fork; last unless defined $p; unless ($p) { sleep 60; exit } $n++; push @p, $p } kill 9, @p; 1 while wait > 0; exit($n < 2500 ? 1 : 0)'`, asAnyone},
	{"much memory", `perl -e '$x = "x" x (3 << 30)'`, unproven},
	{"the disk", `head -c 400m /dev/zero >/tmp/large; s=$?; rm -f /tmp/large; exit $s`, unproven},
	{"many open files", `perl -e 'while ($n < 10000) { open $f[$n], "/dev/null" or last; $n++ } exit($n < 10000 ? 1 : 0)'`, unproven},
}

// changes are what a program may do to its network with net_admin, and not without.
var changes = []escape{
	{"an address", `ip address add 192.0.2.1/32 dev lo`, asAnyone},
	{"an interface", `ip link add exam0 type veth peer name exam1`, asAnyone},
	{"a route", `ip route add blackhole 192.0.2.2`, asAnyone},
	{"a setting", `echo 17 >/proc/sys/net/ipv4/ip_default_ttl`, asAnyone},
}

// rights are what every program has.
var rights = []escape{
	{"a low port", `perl -MSocket -e 'socket S, AF_INET, SOCK_STREAM, 0; exit(bind(S, sockaddr_in(80, INADDR_ANY)) ? 0 : 1)'`, asAnyone},
	{"raw packets", `perl -MSocket -e 'alarm 9; sub own { while (defined recv(S, $b, 999, 0)) { return 1 if length($b) == 28 } } exit(socket(S, AF_INET, SOCK_RAW, 1) && socket(T, AF_INET6, SOCK_RAW, 58) && bind(S, sockaddr_in(0, INADDR_LOOPBACK)) && send(S, "\x08\0\xf7\xff\0\0\0\0", 0, sockaddr_in(0, INADDR_LOOPBACK)) == 8 && own() ? 0 : 1)'`, asAnyone},
	{"packets of links", `perl -MSocket -e 'exit(socket(S, 17, SOCK_RAW, 0x300) && socket(T, 17, SOCK_DGRAM, 0) ? 0 : 1)'`, asAnyone},
	{"an echo request", `perl -MSocket -e 'exit(socket(S, AF_INET, SOCK_DGRAM, 1) ? 0 : 1)'`, unproven},
	{"its own files", `echo x >/run/x && echo x >/exam/x`, asAnyone},
	{"a folder for what it makes", `echo x >/tmp/x && echo x >/var/lib/x && mkdir /dev/shm/x$$`, unproven},
	{"its processes", `sleep 9 & kill $!`, asAnyone},
	{"its output", `echo >/dev/stdout`, asAnyone},
	{"a pipe", `mkfifo /exam/fifo$$`, asAnyone},
}

const escapesPerRun = "/exam/run.sh"

// exam makes the script that tries them all, or outside of a cell those that are proven there.
func exam(t *testing.T) (script func(open bool) string, mark string) {
	t.Helper()
	mark = t.TempDir()
	for dir := mark; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o777)
	}
	if err := os.WriteFile(filepath.Join(mark, "secret"), []byte("secret\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	abstract := "netlab-exam-" + filepath.Base(filepath.Dir(mark))
	for _, name := range []string{filepath.Join(mark, "socket"), "@" + abstract} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		_ = os.Chmod(name, 0o777)
	}
	fill := strings.NewReplacer("MARK", mark, "ABSTRACT", abstract, "CREATOR", fmt.Sprint(os.Getpid()))
	return func(open bool) string {
		var b strings.Builder
		for _, e := range slices.Concat(escapes, changes, rights) {
			if !open || e.proven() {
				fmt.Fprintf(&b, "if ( %s\n) >/dev/null 2>&1 </dev/null; then echo 'done: %s'; else echo 'held: %s'; fi\n", fill.Replace(e.script), e.name, e.name)
			}
		}
		return b.String()
	}, mark
}

// proven reports whether the script succeeds outside of a cell.
func (e escape) proven() bool { return e.works == asAnyone || e.works == asRoot && mayAll() }

// taken is what the exam got done, by name.
func taken(t *testing.T, output string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(done|held): (.*)$`).FindAllStringSubmatch(output, -1) {
		all[m[2]] = m[1] == "done"
	}
	return all
}

// Nothing that a program of a scenario does reaches the machine, whether it is the program of
// a pod, its ready command, a user's command with --confined, one with net_admin, or an agent.
func TestNoProgramEscapes(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the calls are numbered for amd64 and arm64")
	}
	t.Setenv("NETLAB_EXAM", "netlab-exam-secret")
	script, mark := exam(t)
	for _, open := range []bool{false, true} {
		t.Run(map[bool]string{false: "confined", true: "open"}[open], func(t *testing.T) {
			said := examined(t, script(open), open)
			for _, way := range []string{"fresh", "admin", "agent", "ready", "command", "image", "joined"} {
				if open && (way == "image" || way == "joined") {
					continue // in an image they are confined, whoever trusts them
				}
				got := taken(t, said[way])
				judge := func(e escape, want bool) {
					t.Helper()
					if done, tried := got[e.name]; open && !e.proven() {
						return
					} else if !tried {
						t.Errorf("%s: %s: not tried", way, e.name)
					} else if done != want {
						t.Errorf("%s: %s: done %v, want %v", way, e.name, done, want)
					}
				}
				own := []string{"write programs", "write settings"} // in an image they are the program's own copies
				for _, e := range escapes {
					judge(e, open || (way == "image" || way == "joined") && slices.Contains(own, e.name)) // outside of a cell it works, or it would prove nothing
				}
				for _, e := range changes {
					judge(e, open || way == "admin" || way == "agent")
				}
				for _, e := range rights {
					judge(e, true)
				}
			}
			if _, err := os.Stat(filepath.Join(mark, "written")); (err == nil) != open {
				t.Errorf("a file on the machine: %v", err)
			}
		})
	}
}

// mayAll reports whether this process may do all that root may.
func mayAll() bool {
	text, _ := os.ReadFile("/proc/self/uid_map")
	return os.Geteuid() == 0 && strings.Contains(string(text), "4294967295")
}

// examImage is an image with what the exam runs, and with links in it that would lead to the
// machine if something followed them.
func examImage(t *testing.T) occupant.Image {
	t.Helper()
	modules, err := exec.Command("perl", "-MSocket", "-MErrno", "-e", `print "$_\n" for values %INC, @DynaLoader::dl_shared_objects`).Output()
	if err != nil {
		t.Fatal(err)
	}
	made := imagetest.Image{
		Programs: []string{"sh", "perl", "grep", "ls", "cat", "head", "mkdir", "mknod", "mount", "umount", "unshare", "nsenter", "dmesg", "ip", "touch", "sleep", "nice", "rm", "mkfifo", "env"},
		Paths:    strings.Fields(string(modules)),
		Files:    map[string]string{"/etc/passwd": "root:x:0:0::/:/bin/sh\n", "/etc/hostname": "image\n", "/var/lib/kept": ""},
		Links:    map[string]string{"/proc": "/", "/dev": "/etc", "/etc/hosts": "/proc/1/root/etc/hosts", "/etc/resolv.conf": "../../../../etc/passwd"},
	}
	at := filepath.Join(t.TempDir(), "exam.tar")
	made.Archive(t, at)
	opened, err := image.OpenFile(at)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	return occupant.Image{Name: "exam.tar", Path: at, Digest: opened.Digest}
}

// examined runs the exam in all ways, in a lab.
func examined(t *testing.T, script string, open bool) map[string]string {
	t.Helper()
	run := "sh " + escapesPerRun
	hub := plan.Netns{Name: "pod.hub", Kind: plan.Pod}
	pod := func(name, ready string, argv ...string) plan.Netns {
		near, far := plan.Peer{Netns: "pod." + name, Link: "eth0"}, plan.Peer{Netns: hub.Name, Link: "up-to-" + name}
		hub.Links = append(hub.Links, plan.Link{Name: far.Link, Type: plan.Veth, MTU: 1500, MAC: plan.MAC{2, 1, 5: byte(len(hub.Links))}, Peer: near})
		return plan.Netns{Name: "pod." + name, Kind: plan.Pod, Links: []plan.Link{{Name: near.Link, Type: plan.Veth, MTU: 1500, MAC: plan.MAC{2, 5: byte(len(hub.Links))}, Peer: far}}, Execs: []occupant.Exec{{Name: name, Argv: argv, NetAdmin: name == "admin",
			Files: []occupant.File{{Path: escapesPerRun, Content: script, Mode: 0o755}}, Ready: occupant.Ready{Exec: []string{"sh", "-c", ready}, Within: time.Minute}}}}
	}
	inImage := func(n plan.Netns, img occupant.Image) plan.Netns {
		n.Execs[0].Image = img
		return n
	}
	img := examImage(t)
	const over = "test -e /run/over"
	began := "test -e /run/began || { touch /run/began; (" + run + " >/run/said 2>&1; touch /run/over) >/dev/null 2>&1 </dev/null & }; " + over
	p := &plan.Plan{Lab: "exam", Netns: []plan.Netns{
		pod("admin", over, "sh", "-c", run+"; touch /run/over; exec sleep inf"),
		pod("fresh", over, "sh", "-c", run+"; touch /run/over; exec sleep inf"),
		pod("ready", began, "sleep", "inf"),
		inImage(pod("image", over, "sh", "-c", run+"; touch /run/over; exec sleep inf"), img),
	}}
	agent := pod("agent", over, "sh", "-c", run+"; touch /run/over; exec sleep inf")
	agent.Execs[0].Agent, agent.Execs[0].NetAdmin = true, true
	p.Netns = append(p.Netns, agent, hub)
	p.Sort()
	lab, err := Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Abandon)
	if _, err := lab.Apply(t.Context(), p, Meta{HostPrograms: open}, false); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	outputs, err := lab.Logs(t.Context(), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outputs {
		said[o.Name] = string(o.Text)
	}
	command := func(pod string, confined bool, argv ...string) string {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		text := make(chan string)
		go func() {
			b, _ := io.ReadAll(r)
			text <- string(b)
		}()
		_, err = lab.Exec(t.Context(), Command{Netns: "pod." + pod, Program: pod, Confined: confined, Argv: argv, Env: []string{"PATH=" + os.Getenv("PATH")}, Stdout: w, Stderr: w})
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		return <-text
	}
	said["ready"] = command("ready", false, "cat", "/run/said")
	if open {
		said["command"] = said["ready"]
	} else {
		said["command"] = command("fresh", true, "sh", escapesPerRun)
		said["joined"] = command("image", true, "sh", escapesPerRun)
	}
	return said
}
