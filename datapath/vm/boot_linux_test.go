package vm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hangVariable makes this program hang, in the guest.
const hangVariable = "NLAB_TEST_HANG"

func TestMain(m *testing.M) {
	Main() // this binary is also the init of the machines under test
	if os.Getenv(hangVariable) != "" {
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// machine returns a machine to boot, if enabled: it takes seconds, a download the first
// time, and QEMU.
func machine(t *testing.T) Machine {
	t.Helper()
	if os.Getenv("NLAB_TEST_VM") == "" {
		t.Skip("boots virtual machines: make test-vm")
	}
	k, err := FindKernel(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	kvm, err := ChooseKVM(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return Machine{MemoryMiB: 512, CPUs: 2, Kernel: k, KVM: kvm}
}

func shell(script string) Job { return Job{Argv: []string{"sh", "-c", script}, Limit: time.Minute} }

// One machine, many jobs: none disturbs the next.
func TestJobsOfAMachine(t *testing.T) {
	m := machine(t)
	files := t.TempDir()
	brought := filepath.Join(files, "brought")
	if err := os.WriteFile(brought, []byte("from the host\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	hang := Job{Argv: []string{self}, Env: []string{hangVariable + "=1"}, Limit: 2 * time.Second}
	stuck := shell("trap '' QUIT; echo stuck; while :; do sleep 100; done")
	stuck.Limit = time.Second
	input := shell("read line; echo \"read $line\"")
	input.Stdin = []byte("what the host says\n")
	orphan := shell("sleep 1000 & echo gone")
	jobs := []Job{
		shell("exit 7"), {Argv: []string{"no-such-program"}}, shell("kill -9 $$"), hang, stuck,
		shell("seq 1 60000"), // 350 kB, which must pass through a pipe
		shell("cat " + brought + "; mkdir -p /out; seq 1 3000000 >/out/large; echo error >&2"), input, orphan,
		shell("read -r _ 2>/dev/null || echo no input"),
	}
	wantCodes := []int{7, 127, 137, CodeTimeout, CodeTimeout, 0, 0, 0, 0, 0}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	drained := make(chan error, 1)
	go func() {
		_, err := out.ReadFrom(read)
		drained <- err
	}()
	result, err := Run(t.Context(), m, Boot{Jobs: jobs, Files: []string{brought}, Collect: []string{"/out"}, Artifacts: files}, Streams{Out: write, Err: &errs})
	write.Close()
	if e := <-drained; e != nil {
		t.Fatal(e)
	}
	if err != nil || !result.Ended {
		t.Fatalf("%v; ended %v; console:\n%s", err, result.Ended, result.Console)
	}
	t.Logf("ready after %v, all done after %v", result.Ready.Round(10*time.Millisecond), result.Total.Round(10*time.Millisecond))
	for i, o := range result.Jobs {
		if o.Code != wantCodes[i] || o.Killed != (wantCodes[i] == CodeTimeout) {
			t.Errorf("%q: status %d, killed %v; want %d", jobs[i].Argv, o.Code, o.Killed, wantCodes[i])
		}
	}
	if len(result.Jobs) != len(jobs) || result.Code() != 7 {
		t.Errorf("%d of %d jobs; status of the whole %d, want that of the first that failed", len(result.Jobs), len(jobs), result.Code())
	}
	var numbers strings.Builder
	for i := range 60000 {
		fmt.Fprintln(&numbers, i+1)
	}
	for _, want := range []string{"stuck\n", numbers.String(), "from the host\n", "read what the host says\n", "gone\n", "no input\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %.40q", want)
		}
	}
	if got := errs.String(); !strings.Contains(got, "error\n") || !strings.Contains(got, "boot_linux_test.go") {
		t.Errorf("errors lack those of a job, or the stack of the hanging one:\n%.2000s", got)
	}
	if info, err := os.Stat(filepath.Join(files, "out", "large")); err != nil || info.Size() != 22888896 {
		t.Errorf("a large file does not come back complete: %v", err)
	}
}

func TestPanicOfTheGuestEndsTheMachine(t *testing.T) {
	m := machine(t)
	result, err := Run(t.Context(), m, Boot{Jobs: []Job{shell("echo c >/proc/sysrq-trigger; sleep 1000")}}, Streams{})
	if err != nil || result.Ended || !strings.Contains(result.Console, "Kernel panic") {
		t.Errorf("%v; ended %v; console:\n%s", err, result.Ended, result.Console)
	}
}

// A guest that stops responding is not waited for.
func TestSilentGuestIsSwitchedOff(t *testing.T) {
	m := machine(t)
	m.Patience = 15 * time.Second
	stopped := shell("kill -STOP $PPID; sleep 1000")
	stopped.Limit = time.Second
	result, err := Run(t.Context(), m, Boot{Jobs: []Job{stopped}}, Streams{})
	if !errors.Is(err, ErrNoAnswer) || result.Ended {
		t.Errorf("%v; ended %v", err, result.Ended)
	}
}

// Nor is one that does not boot, however long its jobs may take.
func TestMachineThatDoesNotBootIsSwitchedOff(t *testing.T) {
	m := machine(t)
	m.Patience = 100 * time.Millisecond
	result, err := Run(t.Context(), m, Boot{Jobs: []Job{{Argv: []string{"true"}}}}, Streams{})
	if !errors.Is(err, ErrNoAnswer) || result.Ended {
		t.Errorf("%v; ended %v", err, result.Ended)
	}
}

func TestFilesOfAMachineNeedMemory(t *testing.T) {
	m := machine(t)
	m.MemoryMiB = 128
	_, err := Run(t.Context(), m, Boot{Jobs: []Job{{Argv: []string{"true"}}}}, Streams{})
	var small *TooSmallError
	if !errors.As(err, &small) {
		t.Fatalf("got %v", err)
	}
	m.MemoryMiB = small.Least
	result, err := Run(t.Context(), m, Boot{Jobs: []Job{{Argv: []string{"true"}}}}, Streams{})
	if err != nil || !result.Ended {
		t.Errorf("%v; ended %v with %d MiB; its console said\n%s", err, result.Ended, small.Least, result.Console)
	}
}

func TestInterruptSwitchesTheMachineOff(t *testing.T) {
	m := machine(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, m, Boot{Jobs: []Job{{Argv: []string{"sleep", "1000"}}}}, Streams{Ready: func(time.Duration) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(os.TempDir() + "/*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// An unprivileged user, without a kernel in its own cache.
func TestOrdinaryUserRunsMachines(t *testing.T) {
	machine(t)
	if os.Geteuid() != 0 {
		t.Skip("not root: all other tests run as an ordinary user already")
	}
	home, err := os.MkdirTemp("/tmp", "netlab-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	program := filepath.Join(home, "vm.test")
	exe, err := os.Executable()
	if err == nil {
		err = copyFile(program, exe)
	}
	for _, name := range []string{home, program} {
		if err == nil {
			err = os.Chmod(name, 0o755)
		}
		if err == nil {
			err = os.Chown(name, 65534, 65534)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.run", "^TestInterruptSwitchesTheMachineOff$|^TestPanicOfTheGuest")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/bin:/bin", "NLAB_TEST_VM=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS") != 2 {
		t.Errorf("%v:\n%s", err, out)
	}
}
