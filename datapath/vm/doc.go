// Package vm runs commands in a small virtual machine with a full kernel, for machines
// whose own kernel lacks features.
//
// A run, step by step:
//
//  1. FindKernel (kernel_linux.go) takes the kernel from the cache, or downloads
//     Debian's cloud kernel with the package manager and unpacks it there. Nothing is
//     installed, and no privileges are needed.
//  2. image (image_linux.go) plans the guest's file system: this very program as
//     init, the host's own tools with the libraries that they load (elf.go), a
//     choice of the kernel's modules (modules.go), the files that the user named, at
//     their original paths, and the orders (job.go). cpio.go writes it as an
//     initramfs: everything is in memory, and no disk is attached.
//  3. Run (run_linux.go) opens one socket per channel, starts QEMU (machine.go) and
//     drains them (channels_linux.go).
//  4. In the guest the kernel starts init (init_linux.go): it mounts what programs
//     expect and starts itself again as the worker, so that process 1 can reap.
//  5. The worker (guest_linux.go) loads the modules for the channels and those that
//     nothing else would load, opens the channels, and says that it is ready.
//  6. It runs the jobs one after the other (guestjob_linux.go). What they print goes
//     to the host as it is printed; how each ended is an event on the control channel.
//  7. Files to collect go to the host as a tar archive. The worker says how much it
//     sent; the host answers when that much has arrived; the guest restarts, which
//     ends the emulator.
//
// Three watchdogs ensure that a run ends: in the guest a job's limit (SIGQUIT, then
// SIGKILL; status 124, and files still come back), on the host the sum of the limits
// plus a minute, and a kernel panic, which ends the emulator immediately.
//
// KVM is used if it proves to work (accel_linux.go); otherwise the processor is
// emulated, which is some 40 times slower but works everywhere.
package vm
