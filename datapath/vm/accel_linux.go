package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Values of the variable that overrides the choice of accelerator.
const (
	accelVariable = "NLAB_VM_ACCEL"
	accelKVM      = "kvm"
	accelTCG      = "tcg"
)

// provePatience is how long a kernel may take to boot with KVM. It takes a second; if
// /dev/kvm is not usable the kernel spins forever.
const provePatience = 5 * time.Second

// ChooseKVM reports whether a kernel is to be run with KVM instead of an emulated
// processor. The presence of /dev/kvm proves nothing: inside other virtual machines it
// may be one with which no stock kernel boots. So the kernel itself is booted once, and
// the verdict kept for this pair of kernels.
func ChooseKVM(ctx context.Context, k Kernel) (bool, error) {
	switch value := os.Getenv(accelVariable); value {
	case accelKVM:
		return true, nil
	case accelTCG:
		return false, nil
	case "":
	default:
		return false, fmt.Errorf("%s is %q: use %s or %s", accelVariable, value, accelKVM, accelTCG)
	}
	if !kvmPossible() {
		return false, nil
	}
	verdict, err := verdictFile(k)
	if err != nil {
		return false, err
	}
	if text, err := os.ReadFile(verdict); err == nil {
		return strings.TrimSpace(string(text)) == accelKVM, nil
	}
	proved, err := prove(ctx, k)
	if err != nil {
		return false, err
	}
	text := accelTCG
	if proved {
		text = accelKVM
	}
	// If it cannot be stored, the kernel is tried again next time.
	if os.MkdirAll(filepath.Dir(verdict), 0o755) == nil {
		_ = os.WriteFile(verdict, []byte(text+"\n"), 0o644)
	}
	return proved, nil
}

// kvmPossible checks whether the processor supports the virtualization behind /dev/kvm,
// and we may use it.
func kvmPossible() bool {
	if unix.Access("/dev/kvm", unix.R_OK|unix.W_OK) != nil {
		return false
	}
	if runtime.GOARCH == "arm64" {
		return true
	}
	for _, m := range []string{"kvm_intel", "kvm_amd"} {
		if _, err := os.Stat("/sys/module/" + m); err == nil {
			return true
		}
	}
	return false
}

// verdictFile is where the verdict about two kernels is kept.
func verdictFile(k Kernel) (string, error) {
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	var host unix.Utsname
	if err := unix.Uname(&host); err != nil {
		return "", err
	}
	name := unix.ByteSliceToString(host.Release[:]) + "_" + k.Release + "_" + k.Version
	return filepath.Join(cache, "accelerators", strings.ReplaceAll(name, "/", "_")), nil
}

// prove boots a kernel with KVM and an init that reports success and ends.
func prove(ctx context.Context, k Kernel) (bool, error) {
	e, err := emulatorOf(runtime.GOARCH)
	if err != nil {
		return false, err
	}
	program, err := findProgram(e.program)
	if err != nil {
		return false, nil // Run reports it
	}
	dir, done, err := workDir()
	if err != nil {
		return false, err
	}
	defer done()
	t, err := probeImage()
	if err != nil {
		return false, err
	}
	initrd, err := writeImage(t, dir)
	if err != nil {
		return false, err
	}
	defer initrd.Close()
	ctx, cancel := context.WithTimeout(ctx, provePatience)
	defer cancel()
	m := Machine{MemoryMiB: 256, CPUs: 1, Kernel: k, KVM: true}
	r := &running{}
	err = r.boots(ctx, emulate(program, initrd, e.arguments(m, dir, initrdPath, initProbe, nil)))
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return false, err
	}
	console, err := os.ReadFile(filepath.Join(dir, "console"))
	return err == nil && strings.Contains(string(console), probeAlive), nil
}
