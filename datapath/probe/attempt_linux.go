package probe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
)

// begin starts the next attempt. It reports false if that must wait until others have
// released what it needs.
func (r *run) begin(at int) bool {
	f, a := r.flow(at), &r.attempts[at]
	a.began = time.Since(r.began)
	if err := r.goTo(f.From); err != nil {
		r.next++
		r.end(at, flow.Failed, err.Error())
		return true
	}
	fd, err := r.dial(at, f)
	switch {
	case fd < 0 && r.open > 0 && (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) ||
		errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EADDRINUSE)):
		return false
	case fd < 0:
		r.next++
		r.end(at, flow.Failed, err.Error())
		return true
	}
	r.next++
	r.open++
	r.young++
	a.fd, a.young = fd, true
	if a.state == waiting {
		a.state = joining
	}
	r.deadlines.add(at, a.began+cmp.Or(max(f.Within, 0), DefaultWithin))
	if err != nil {
		r.fail(at, err)
	}
	return true
}

// goTo moves the thread to a network namespace.
func (r *run) goTo(name string) error {
	if r.entered && r.inside == name {
		return r.noEntry
	}
	r.inside, r.entered = name, true
	ns, err := r.enter(name)
	if err == nil {
		err = r.here.Enter(ns)
	}
	if err != nil {
		err = fmt.Errorf("dial from %q: %w", name, err)
	}
	r.noEntry = err
	return err
}

// question is the line that asks an agent for its identity.
const question = "who are you?\n"

// errResent is the result of an attempt that asked for no second packet.
var errResent = fmt.Errorf("its first packet was sent again: %w", unix.ETIMEDOUT)

// dial creates the socket of an attempt, connects it and asks, as far as possible
// without waiting. With a descriptor, the error is the result of the attempt; without
// one it is our own failure.
func (r *run) dial(at int, f *flow.Flow) (int, error) {
	sa, family := sockaddr(f.To)
	kind, number, ok := socketOf(f.Protocol)
	if !ok || (f.Path != "" || f.Upload > 0) && f.Protocol == flow.UDP {
		return -1, fmt.Errorf("dial %s: protocol not supported", f.Protocol)
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, number)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := setUpDialed(fd, kind, family); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if number == 0 && kind == unix.SOCK_STREAM {
		if err := takePort(fd, family); err != nil && r.open > 0 {
			unix.Close(fd)
			return -1, err
		}
	}
	err = unix.Connect(fd, sa)
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return fd, os.NewSyscallError("connect", err)
	}
	// Between namespaces on one machine the handshake is often already done.
	events := uint32(unix.EPOLLIN | unix.EPOLLET)
	r.attempts[at].fd = fd
	switch err := r.ask(at); {
	case err == nil && r.flow(at).Once && r.resent(at): // while this thread did not run
		return fd, errResent
	case err == nil:
		r.attempts[at].state = asked
	case errors.Is(err, unix.EAGAIN):
		events |= unix.EPOLLOUT
	default:
		return fd, err
	}
	r.seen[r.order[at]].Local = localAddr(fd)
	if err := r.poller.watch(unix.EPOLL_CTL_ADD, fd, events, at); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func setUpDialed(fd, kind, family int) error {
	if kind == unix.SOCK_STREAM {
		return setLinger(fd, true)
	}
	// Without it a datagram socket learns only of a closed port, not of an unreachable
	// host or network (IP_RECVERR, ip(7)).
	if family == unix.AF_INET6 {
		return setOptions(fd, [3]int{unix.SOL_IPV6, unix.IPV6_RECVERR, 1})
	}
	return setOptions(fd, [3]int{unix.SOL_IP, unix.IP_RECVERR, 1})
}

// ask sends the flow's request, or as much of it as there is room for.
func (r *run) ask(at int) error {
	if r.flow(at).Upload > 0 {
		return r.upload(at)
	}
	return r.send(at)
}

func (r *run) send(at int) error {
	f, a := r.flow(at), &r.attempts[at]
	if a.mark == 0 && r.server != nil {
		a.mark = r.server.await()
	}
	words, option := question, ""
	if a.mark != 0 {
		// A proxy does not pass on a connection option (RFC 9110, 7.6.1).
		words, option = strings.TrimSuffix(question, "\n")+" "+markOf(a.mark)+"\n", ", "+markOf(a.mark)
	}
	if f.Path != "" {
		words = ProxyHeader(f) + requestFor(f, option)
	}
	_, err := unix.SendmsgN(a.fd, []byte(words), nil, nil, unix.MSG_NOSIGNAL)
	if f.Protocol == flow.UDP && errors.Is(err, unix.EPERM) {
		// The dialer's own rules dropped the datagram, silently or, with REJECT, together
		// with an ICMP error that is read next: a client that ignores what send returns,
		// as most do, cannot tell it from a drop or an error on the way.
		return nil
	}
	if f.Protocol == flow.SCTP && errors.Is(err, unix.EPIPE) {
		// What SCTP says until the handshake is done (sctp_id2assoc in the kernel's
		// net/sctp/socket.c); an association that failed has an error of its own.
		return unix.EAGAIN
	}
	return os.NewSyscallError("send", err)
}

// proceed continues an attempt after an event.
func (r *run) proceed(at int) {
	a := &r.attempts[at]
	if a.state == joining {
		if r.flow(at).Once && r.resent(at) {
			r.fail(at, errResent)
			return
		}
		switch err := r.ask(at); {
		case err == nil:
			a.state = asked
		case errors.Is(err, unix.EAGAIN):
			return
		default:
			r.fail(at, err)
			return
		}
	}
	for a.state == asked {
		n, err := unix.Read(a.fd, r.buf[:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return
		case errors.Is(err, unix.EINTR):
		case err != nil:
			r.fail(at, os.NewSyscallError("read", err))
		default:
			r.hear(at, r.buf[:n])
		}
	}
}

// hear takes a piece of an answer; an empty one means that no more is available.
func (r *run) hear(at int, b []byte) {
	a := &r.attempts[at]
	whole := len(b) == 0 || r.flow(at).Protocol == flow.UDP
	if len(a.part) > 0 {
		a.part = append(a.part, b...)
		b = a.part
	}
	if r.flow(at).Path != "" {
		r.hearResponse(at, b, whole)
		return
	}
	line, _, ended := bytes.Cut(b, []byte("\n"))
	if !ended && !whole && len(b) < len(r.buf) {
		a.keep(b)
		return
	}
	r.measured(at)
	if !r.answered(at, line) && a.mark != 0 && a.young {
		a.state = heard // who it was is known soon: lookAgain
		r.seen[r.order[at]].Took = time.Since(r.began) - a.began
		return
	}
	r.end(at, flow.Connected, "")
}

// hearResponse takes what has arrived of an HTTP response. A server of another protocol
// has answered, too.
func (r *run) hearResponse(at int, b []byte, whole bool) {
	res, done := parseResponse(b)
	if !done && !whole && len(b) < maxResponse {
		r.attempts[at].keep(b)
		return
	}
	s := &r.seen[r.order[at]]
	s.Status, s.Header, s.Body = res.status, res.header, res.body
	r.answered(at, []byte(res.body))
	r.end(at, flow.Connected, "")
}

// keep keeps the beginning of an answer, out of the shared buffer.
func (a *attempt) keep(b []byte) {
	if len(a.part) == 0 {
		a.part = append(a.part, b...)
	}
}

// answered records who answered: an agent says so, and of programs it is witnessed.
func (r *run) answered(at int, line []byte) bool {
	a, ok := ParseAnswer(line)
	if !ok {
		return r.witnessed(at)
	}
	r.record(at, a)
	return true
}

func (r *run) record(at int, a Answer) {
	s := &r.seen[r.order[at]]
	s.Answer, s.Node, s.Source, s.Forwarded, s.TTL = a.Name, a.Node, a.Peer, a.Forwarded.Unmap(), a.TTL
	s.Asked = a.Asked.fields()
}
