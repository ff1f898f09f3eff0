package kubeapi

import (
	"net/http"
	"time"
)

// patience is how long a client may take to read a piece of an answer.
const patience = 30 * time.Second

// pieceSize is how much of an answer is computed in one turn, in bytes.
const pieceSize = 64 << 10

// out is an answer. It is computed in turns, and sent in between: whoever reads slowly keeps
// nobody waiting, and nobody takes more than one piece of memory and one processor.
type out struct {
	s       *Server
	w       http.ResponseWriter
	control *http.ResponseController
	piece   []byte
	turn    bool // it is ours
	err     error
}

func (s *Server) out(w http.ResponseWriter) *out {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, private")
	return &out{s: s, w: w, control: http.NewResponseController(w)}
}

// begin waits for the turn to compute, if this answer does not have it.
func (o *out) begin() {
	if !o.turn {
		o.s.turn.Lock()
		o.turn = true
	}
}

// end gives the turn back.
func (o *out) end() {
	if o.turn {
		o.turn = false
		o.s.turn.Unlock()
	}
}

func (o *out) write(p []byte) {
	if o.piece = append(o.piece, p...); len(o.piece) >= pieceSize {
		o.send()
	}
}

func (o *out) send() {
	o.end()
	if o.err == nil {
		_ = o.control.SetWriteDeadline(time.Now().Add(patience))
		_, o.err = o.w.Write(o.piece)
	}
	o.piece = o.piece[:0]
}

// flush sends what is left; false: the client is gone or does not read, and nobody can be told.
func (o *out) flush() bool {
	o.send()
	if o.err == nil {
		o.err = o.control.Flush()
	}
	return o.err == nil
}
