package vm

import (
	"fmt"
	"strings"
	"time"
)

// Machine is the size of a virtual machine, and how it is run.
type Machine struct {
	MemoryMiB int
	CPUs      int
	Kernel    Kernel
	KVM       bool // otherwise the processor is emulated
	// Patience is how long it may take to boot and to shut down, in addition to its
	// jobs, if every job has a limit; 0: a minute. Otherwise it is how long it may take
	// to boot; 0: three minutes.
	Patience time.Duration
}

// Kernel is a kernel that a machine can boot.
type Kernel struct {
	Image   string // the file, as vmlinuz
	Modules string // the folder of its modules, with modules.dep in it
	Release string // as uname -r says
	Version string // of the package; empty for a kernel named by the user
}

// port is a channel between guest and host: a virtio serial port of that name, and
// a socket of that name in the run's folder.
type port string

// The channels. Output and errors are streams of the command; control carries
// events and requests in lines of JSON; artifacts is a tar archive; terminal is what
// a person types and reads.
const (
	portOut       port = "out"
	portErr       port = "err"
	portControl   port = "control"
	portArtifacts port = "artifacts"
	portTerminal  port = "terminal"
)

func ports() []port { return []port{portControl, portOut, portErr, portArtifacts, portTerminal} }

// guestName is how the guest finds a port: by /sys/class/virtio-ports/*/name.
func (p port) guestName() string { return "netlab." + string(p) }

// Parameters of the kernel's command line that init finds in its environment
// (Documentation/admin-guide/kernel-parameters.rst: unknown parameters are passed
// there).
const (
	wordInit   = "netlab_init"
	initRun    = "run"   // mount, load modules, run the jobs
	initProbe  = "probe" // report that the kernel booted, and end
	probeAlive = "netlab: the kernel came up"
)

// slowness tells programs in an emulated machine how much longer they should wait for
// what is immediate elsewhere. A system call takes 40 times as long there; a deadline
// of a second allows for that, unless much happens at once.
const slowness = "NLAB_TIME_SCALE=2.5"

// environ are the variables of every job of a machine.
func (m Machine) environ() []string {
	if m.KVM {
		return nil
	}
	return []string{slowness}
}

// emulator is the QEMU for a processor, by its name in Go.
type emulator struct {
	program string
	machine string
	console string
}

func emulatorOf(arch string) (emulator, error) {
	switch arch {
	case "amd64":
		// Not microvm: without HPET and PM timer its clock does not calibrate on a busy
		// host, and the kernel never boots.
		return emulator{"qemu-system-x86_64", "q35", "ttyS0"}, nil
	case "arm64":
		return emulator{"qemu-system-aarch64", "virt,gic-version=max", "ttyAMA0"}, nil
	}
	return emulator{}, fmt.Errorf("no virtual machine for processor %s: only amd64 and arm64 are supported", arch)
}

// arguments are QEMU's arguments for a machine whose sockets, console and initramfs are
// in a folder.
func (e emulator) arguments(m Machine, dir, initrd, word string, with []port) []string {
	accel, cpu := "tcg,thread=multi,tb-size=256", "max"
	if m.KVM {
		accel, cpu = "kvm", "host"
	}
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none",
		"-no-reboot", // a guest that restarts, or panics, ends the emulator
		"-M", e.machine, "-accel", accel, "-cpu", cpu,
		"-m", fmt.Sprint(m.MemoryMiB), "-smp", fmt.Sprint(m.CPUs),
		"-kernel", m.Kernel.Image, "-initrd", initrd,
		"-chardev", "file,id=console,path=" + quoteOption(dir+"/console"), "-serial", "chardev:console",
		"-device", "virtio-rng-pci",
	}
	if len(with) > 0 {
		args = append(args, "-device", "virtio-serial-pci")
	}
	for _, p := range with {
		// A socket, never -chardev stdio: that stalls if standard output is a pipe.
		args = append(args,
			"-chardev", fmt.Sprintf("socket,id=%s,server=off,path=%s", p, quoteOption(dir+"/"+string(p))),
			"-device", fmt.Sprintf("virtserialport,chardev=%s,name=%s", p, p.guestName()))
	}
	return append(args, "-append", strings.Join(e.commandLine(word), " "))
}

// commandLine is the kernel's. A panic restarts at once, which ends the emulator.
func (e emulator) commandLine(word string) []string {
	return []string{
		"console=" + e.console, "quiet", "loglevel=4", "panic=-1", "reboot=t", "mitigations=off", "nokaslr", "audit=0",
		"random.trust_cpu=on", "tsc=reliable", "no_timer_check", "rcupdate.rcu_expedited=1", wordInit + "=" + word,
	}
}

// quoteOption quotes a value of a QEMU option, which a comma would end.
func quoteOption(value string) string { return strings.ReplaceAll(value, ",", ",,") }
