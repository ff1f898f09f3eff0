package probe

import (
	"bytes"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
)

// uploadWord begins an upload. The agent answers only when the line is complete,
// however long that takes.
const uploadWord = "upload "

// isUpload reports whether the first bytes of a connection are those of an upload.
func isUpload(b []byte) bool { return bytes.HasPrefix(b, []byte(uploadWord)) }

// filler is what uploads are made of.
var filler = bytes.Repeat([]byte{'x'}, 64<<10)

// upload sends a line with the flow's number of bytes, as far as there is room. It
// returns EAGAIN until the newline is sent.
func (r *run) upload(at int) error {
	a, size := &r.attempts[at], max(r.flow(at).Upload, len(uploadWord)+1)
	for a.sent < size {
		piece := filler[:min(len(filler), size-a.sent)]
		switch {
		case a.sent < len(uploadWord):
			piece = []byte(uploadWord)[a.sent:]
		case a.sent == size-1:
			piece = []byte("\n")
		case len(piece) == size-a.sent:
			piece = piece[:len(piece)-1]
		}
		n, err := unix.SendmsgN(a.fd, piece, nil, nil, unix.MSG_NOSIGNAL)
		if err != nil {
			return os.NewSyscallError("send", err)
		}
		if a.sent == 0 {
			a.upload = time.Since(r.began)
		}
		a.sent += n
	}
	return nil
}

// measured fills in the rate of an upload that was just answered.
func (r *run) measured(at int) {
	a := &r.attempts[at]
	if took := time.Since(r.began) - a.upload; a.sent > 0 && took > 0 {
		r.seen[r.order[at]].Rate = uint64(float64(8*a.sent) / took.Seconds())
	}
}

// resent reports whether TCP had to send the first packet of an attempt again, as long as
// nothing else was sent.
func (r *run) resent(at int) bool {
	if p := r.flow(at).Protocol; p != flow.TCP && p != "" {
		return false
	}
	info, err := unix.GetsockoptTCPInfo(r.attempts[at].fd, unix.SOL_TCP, unix.TCP_INFO)
	return err == nil && info.Total_retrans > 0
}

// askTCP records what TCP measured for a connection (struct tcp_info in linux/tcp.h):
// the shortest round trip, the longest segment, to which the headers are added, and how much
// was sent in how many segments.
func (r *run) askTCP(at int) {
	s := &r.seen[r.order[at]]
	if s.Flow.Protocol != flow.TCP && s.Flow.Protocol != "" {
		if !r.attempts[at].silent {
			s.RoundTrip = s.Took
		}
		return
	}
	info, err := unix.GetsockoptTCPInfo(r.attempts[at].fd, unix.SOL_TCP, unix.TCP_INFO)
	if err != nil {
		return
	}
	s.RoundTrip = time.Duration(info.Min_rtt) * time.Microsecond
	s.Segments, s.Payload = int(info.Segs_out), info.Bytes_sent
	s.MTU = int(info.Snd_mss) + flow.Headers(s.Flow.To.Addr().Unmap())
	if info.Options&tcpiOptTimestamps == 0 {
		s.MTU -= flow.Timestamps
	}
}

// tcpiOptTimestamps is TCPI_OPT_TIMESTAMPS of linux/tcp.h.
const tcpiOptTimestamps = 1
