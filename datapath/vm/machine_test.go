package vm

import (
	"slices"
	"strings"
	"testing"
)

func TestArgumentsOfTheEmulator(t *testing.T) {
	m := Machine{MemoryMiB: 512, CPUs: 2, Kernel: Kernel{Image: "/k/vmlinuz"}}
	kvm := m
	kvm.KVM = true
	for _, row := range []struct {
		name, arch string
		machine    Machine
		with       []port
		want       []string // next to each other, in this order
	}{
		{"amd64 is a q35, not a microvm", "amd64", m, nil, []string{"-M", "q35", "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max"}},
		{"arm64 is virt", "arm64", m, nil, []string{"-M", "virt,gic-version=max"}},
		{"kvm has the host's processor", "amd64", kvm, nil, []string{"-accel", "kvm", "-cpu", "host"}},
		{"size", "amd64", m, nil, []string{"-m", "512", "-smp", "2"}},
		{"a panic ends it", "amd64", m, nil, []string{"-no-reboot"}},
		{"channels are sockets", "amd64", m, []port{portOut},
			[]string{"-chardev", "socket,id=out,server=off,path=/t,,mp/out", "-device", "virtserialport,chardev=out,name=netlab.out"}},
		{"the console is a file", "amd64", m, nil, []string{"-chardev", "file,id=console,path=/t,,mp/console", "-serial", "chardev:console"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := emulatorOf(row.arch)
			if err != nil {
				t.Fatal(err)
			}
			args := e.arguments(row.machine, "/t,mp", "/t/initrd", initRun, row.with)
			for i := range args {
				if len(args)-i >= len(row.want) && slices.Equal(args[i:i+len(row.want)], row.want) {
					return
				}
			}
			t.Errorf("%q is not in\n%q", row.want, args)
		})
	}
}

func TestKernelCommandLine(t *testing.T) {
	for arch, console := range map[string]string{"amd64": "console=ttyS0", "arm64": "console=ttyAMA0"} {
		e, err := emulatorOf(arch)
		if err != nil {
			t.Fatal(err)
		}
		args := e.arguments(Machine{}, "/tmp", "/tmp/initrd", initProbe, nil)
		words := strings.Fields(args[len(args)-1])
		for _, w := range []string{console, "panic=-1", "netlab_init=probe"} {
			if !slices.Contains(words, w) {
				t.Errorf("%s: no %s in %q", arch, w, words)
			}
		}
	}
	if _, err := emulatorOf("riscv64"); err == nil {
		t.Error("riscv64 passes")
	}
}
