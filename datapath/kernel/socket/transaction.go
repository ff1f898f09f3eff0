//go:build linux

package socket

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Transact sends messages as one nf_tables transaction, which is one write. If the
// socket buffer cannot be large enough, as in a user namespace with a small
// net.core.wmem_max, it takes several transactions, in the order of the messages.
func (s *Socket) Transact(msgs []Message) error {
	size := 64
	for _, m := range msgs {
		size += len(m.Data)
	}
	limit := s.room(size)
	for len(msgs) > 0 {
		n, sum := 0, 64
		for n < len(msgs) && (n == 0 || sum+len(msgs[n].Data) <= limit) {
			sum += len(msgs[n].Data)
			n++
		}
		if err := s.commit(msgs[:n], sum); err != nil {
			return err
		}
		msgs = msgs[n:]
	}
	return nil
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
