//go:build linux

package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
)

// Tables of nf_tables are written and read over netlink, in the instructions that the
// kernel runs: what nft prints differs from version to version, what it sends is the
// kernel's own interface. So no program is needed, and nothing has to be parsed.

const nftSubsystem = unix.NFNL_SUBSYS_NFTABLES << 8

// nftFamily is the number of a family (NFPROTO_*).
func nftFamily(name string) (uint8, error) {
	switch name {
	case "inet":
		return unix.NFPROTO_INET, nil
	case "ip":
		return unix.NFPROTO_IPV4, nil
	case "ip6":
		return unix.NFPROTO_IPV6, nil
	}
	return 0, fmt.Errorf("nft: unknown family %q", name)
}

// nftLoad changes the tables of a namespace, side by side with other work; errors come
// with wait. The edits of one call are one transaction.
func (l *loader) nftLoad(name string, s *space, edits []plan.NFTEdit) {
	if len(edits) == 0 {
		return
	}
	ns := s.ns
	s.nft = true
	l.group.Go(func() error {
		select {
		case l.slots <- struct{}{}:
			defer func() { <-l.slots }()
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
		if err := nftApply(l.ctx, ns.Do, edits); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// nftApply carries out edits over a socket that do opens in the right namespace.
func nftApply(ctx context.Context, do func(func() error) error, edits []plan.NFTEdit) error {
	var w nftWork
	for i := range edits {
		if err := w.edit(&edits[i]); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	var sock *rtnl
	err := do(func() (err error) {
		sock, err = openNetlink(unix.NETLINK_NETFILTER, &scratch{in: make([]byte, 32<<10)})
		return err
	})
	if err != nil {
		return err
	}
	defer sock.close()
	return sock.transact(w.msgs)
}

// transact sends messages as one transaction of nf_tables, which is one write. Where the
// socket may not have so much room, as in a user namespace with a small
// net.core.wmem_max, it takes several transactions, in the order of the messages.
func (s *rtnl) transact(msgs []message) error {
	size := 64
	for _, m := range msgs {
		size += len(m.data)
	}
	limit := s.room(size)
	for len(msgs) > 0 {
		n, sum := 0, 64
		for n < len(msgs) && (n == 0 || sum+len(msgs[n].data) <= limit) {
			sum += len(msgs[n].data)
			n++
		}
		if err := s.commit(msgs[:n], sum); err != nil {
			return err
		}
		msgs = msgs[n:]
	}
	return nil
}

// room asks for a socket that sends so many bytes at once, and returns how many it does.
func (s *rtnl) room(size int) int {
	size += size/4 + 4096 // the kernel counts more than the bytes
	if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, size) != nil {
		_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, size)
	}
	_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1<<20) // for many refusals
	got, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	if err != nil {
		return 128 << 10
	}
	return got/2 - 4096
}

// commit is one transaction. The last message asks for an answer, which comes after the
// commit; refused ones are answered anyway.
func (s *rtnl) commit(msgs []message, size int) error {
	out := make([]byte, 0, size)
	out = s.frame(out, unix.NFNL_MSG_BATCH_BEGIN)
	begin, first := s.seq, s.seq+1
	for i, m := range msgs {
		s.seq++
		binary.NativeEndian.PutUint32(m.data[8:], s.seq)
		if i == len(msgs)-1 {
			flags := binary.NativeEndian.Uint16(m.data[6:])
			binary.NativeEndian.PutUint16(m.data[6:], flags|unix.NLM_F_ACK)
		}
		out = append(out, m.data...)
	}
	last := s.seq
	out = s.frame(out, unix.NFNL_MSG_BATCH_END)
	if err := unix.Sendto(s.fd, out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("nft: send %d bytes: %w", len(out), err)
	}
	var refused error
	for {
		n, _, err := unix.Recvfrom(s.fd, s.in, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return errors.Join(refused, fmt.Errorf("nft: netlink receive: %w", err))
		}
		replies, err := syscall.ParseNetlinkMessage(s.in[:n])
		if err != nil {
			return fmt.Errorf("nft: netlink receive: %w", err)
		}
		for _, r := range replies {
			seq := r.Header.Seq
			if r.Header.Type != unix.NLMSG_ERROR || seq < begin || seq > last+1 {
				continue
			}
			whole := message{says: func() string { return "nft: the transaction" }}
			switch {
			case seq < first || seq > last:
				return errors.Join(refused, whole.refusal(r))
			case refused == nil:
				refused = msgs[seq-first].refusal(r)
			}
			if seq == last {
				return refused
			}
		}
	}
}

// frame appends the message that begins or ends a transaction.
func (s *rtnl) frame(b []byte, kind int) []byte {
	s.seq++
	b = binary.NativeEndian.AppendUint32(b, unix.NLMSG_HDRLEN+4)
	b = binary.NativeEndian.AppendUint16(b, uint16(kind))
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = binary.NativeEndian.AppendUint32(b, s.seq)
	b = binary.NativeEndian.AppendUint32(b, 0)
	return append(b, unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, unix.NFNL_SUBSYS_NFTABLES)
}
