package probe

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
)

// OutcomeOf maps an error of a connection, or of a wait for it, to an outcome.
func OutcomeOf(err error) flow.Outcome {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return flow.Timeout
	}
	return outcome(err)
}

// outcome maps a socket error to an outcome.
func outcome(err error) flow.Outcome {
	var no unix.Errno
	if !errors.As(err, &no) {
		return flow.Failed
	}
	switch no {
	case unix.ECONNREFUSED:
		return flow.Refused
	// A reset in reply to the SYN is ECONNREFUSED, so this came later (tcp_reset in
	// net/ipv4/tcp_input.c).
	case unix.ECONNRESET, unix.EPIPE:
		return flow.Reset
	case unix.ETIMEDOUT:
		return flow.Timeout
	// ICMP errors as the kernel translates them (icmp_err_convert in net/ipv4/icmp.c),
	// and routes of the types unreachable, prohibit and blackhole (ip-route(8)), which
	// answer the local sender with EHOSTUNREACH, EACCES and EINVAL.
	case unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EHOSTDOWN, unix.ENONET,
		unix.ENOPROTOOPT, unix.EOPNOTSUPP, unix.EPROTO,
		unix.EACCES, unix.EINVAL, unix.EADDRNOTAVAIL:
		return flow.Unreachable
	}
	return flow.Failed
}
