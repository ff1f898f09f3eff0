//go:build linux

package socket

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// Transact sends messages as one nf_tables transaction, which is one write. If they are
// many, the early ones that they begin with go in parts before it. If the socket buffer cannot
// be large enough, as in a user namespace with a small net.core.wmem_max, all take several
// transactions, in the order of the messages.
func (s *Socket) Transact(ctx context.Context, msgs []Message) error {
	largest := 0
	for _, list := range parts(msgs, math.MaxInt) {
		largest = max(largest, size(list))
	}
	for _, list := range parts(msgs, s.room(largest)) {
		if err := s.commit(list, size(list)); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// handful is how many bytes of early messages are one transaction. For every rule with a set of
// its own, the kernel goes through all that the transaction has done so far
// (__nft_set_trans_bind in nf_tables_api.c): what takes seconds in parts takes minutes as a whole.
// Parts that are far smaller do not help, since it goes through all chains to commit one.
const handful = 256 << 10

// parts are the transactions for messages, each of at most so many bytes.
func parts(msgs []Message, limit int) (list [][]Message) {
	early := 0
	if size(msgs) > handful {
		for early < len(msgs) && msgs[early].Early {
			early++
		}
	}
	split := func(msgs []Message, limit int) {
		for len(msgs) > 0 {
			n, sum := 0, frames
			for n < len(msgs) {
				next, bytes := joined(msgs[n:])
				if n > 0 && sum+bytes > limit {
					break
				}
				n, sum = n+next, sum+bytes
			}
			list = append(list, msgs[:n])
			msgs = msgs[n:]
		}
	}
	split(msgs[:early], min(limit, handful))
	split(msgs[early:], limit)
	return list
}

// frames is room for the messages that begin and end a transaction, in bytes.
const frames = 64

func size(msgs []Message) int {
	bytes := frames
	for _, m := range msgs {
		bytes += len(m.Data)
	}
	return bytes
}

// joined counts the messages up to the first that need not be with the next, and their
// bytes.
func joined(msgs []Message) (n, bytes int) {
	for n < len(msgs) {
		bytes += len(msgs[n].Data)
		if n++; !msgs[n-1].Joined {
			break
		}
	}
	return n, bytes
}

// room requests a send buffer for that many bytes, and returns how many fit.
func (s *Socket) room(size int) int {
	size += size/4 + 4096 // the kernel counts more than the bytes
	if unix.SetsockoptInt(s.FD, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, size) != nil {
		_ = unix.SetsockoptInt(s.FD, unix.SOL_SOCKET, unix.SO_SNDBUF, size)
	}
	_ = unix.SetsockoptInt(s.FD, unix.SOL_SOCKET, unix.SO_RCVBUF, 1<<20) // for many refusals
	got, err := unix.GetsockoptInt(s.FD, unix.SOL_SOCKET, unix.SO_SNDBUF)
	if err != nil {
		return 128 << 10
	}
	return got/2 - 4096
}

// commit sends one transaction. The last message requests an answer, which follows the
// commit; refused ones are answered anyway.
func (s *Socket) commit(msgs []Message, size int) error {
	out := make([]byte, 0, size)
	out = s.frame(out, unix.NFNL_MSG_BATCH_BEGIN)
	begin, first := s.seq, s.seq+1
	for i, m := range msgs {
		s.seq++
		binary.NativeEndian.PutUint32(m.Data[8:], s.seq)
		if i == len(msgs)-1 {
			flags := binary.NativeEndian.Uint16(m.Data[6:])
			binary.NativeEndian.PutUint16(m.Data[6:], flags|unix.NLM_F_ACK)
		}
		out = append(out, m.Data...)
	}
	last := s.seq
	out = s.frame(out, unix.NFNL_MSG_BATCH_END)
	if err := unix.Sendto(s.FD, out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("nft: send %d bytes: %w", len(out), err)
	}
	var refused error
	for {
		replies, err := s.receive()
		if err != nil {
			return errors.Join(refused, fmt.Errorf("nft: %w", err))
		}
		for _, r := range replies {
			seq := r.Header.Seq
			if r.Header.Type != unix.NLMSG_ERROR || seq < begin || seq > last+1 {
				continue
			}
			whole := Message{Label: wholeTransaction{}}
			switch {
			case seq < first || seq > last:
				return errors.Join(refused, whole.Refusal(r))
			case refused == nil:
				refused = msgs[seq-first].Refusal(r)
			}
			if seq == last {
				return refused
			}
		}
	}
}

// wholeTransaction labels an answer that belongs to no single message.
type wholeTransaction struct{}

func (wholeTransaction) String() string { return "nft: the transaction" }

// frame appends the message that begins or ends a transaction.
func (s *Socket) frame(b []byte, kind int) []byte {
	s.seq++
	m := Start(0, kind, 0, unix.AF_UNSPEC)
	m.B[len(m.B)-1] = unix.NFNL_SUBSYS_NFTABLES
	binary.NativeEndian.PutUint32(m.B[8:], s.seq)
	return append(b, m.Done().Data...)
}
