//go:build linux

package cell

import "golang.org/x/sys/unix"

// What a program may take. They are far above what servers under test need.
const (
	maxProcesses = 512      // and threads
	maxFiles     = 4096     // that are open, in each process
	maxMemory    = 2 << 30  // bytes that each process can write to
	maxLocked    = 64 << 20 // bytes of memory that cannot be paged out
	maxTmpfs     = "256m"   // all private files together
	maxInodes    = "65536"  // of them
)

// limit bounds this process, and all that come from it.
func limit(x *inside) error {
	processes := uint64(maxProcesses)
	if !x.Fresh {
		processes *= 4 // counted together with those of other cells
	}
	for what, most := range map[int]uint64{unix.RLIMIT_NPROC: processes, unix.RLIMIT_NOFILE: maxFiles, unix.RLIMIT_DATA: maxMemory,
		unix.RLIMIT_MEMLOCK: maxLocked, unix.RLIMIT_CORE: 0, unix.RLIMIT_MSGQUEUE: 1 << 20, unix.RLIMIT_SIGPENDING: 4096, unix.RLIMIT_NICE: 0, unix.RLIMIT_RTPRIO: 0} {
		var now unix.Rlimit
		if err := unix.Getrlimit(what, &now); err != nil {
			return err
		}
		most = min(most, now.Max)
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	// Whoever goes on taking memory is what the kernel ends first when there is none left.
	return write("/proc/self/oom_score_adj", "1000")
}
