package kubeapi

import (
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

// What clients of one door can take. kube-proxy has 5 connections, kube-router 7.
const (
	maxConns       = 64
	maxHeader      = 64 << 10
	headerPatience = 10 * time.Second
	idlePatience   = 2 * time.Minute
)

// Open serves whoever connects to a listener, a bounded number at a time, and returns at once.
// Closing what it returns closes the listener and all its connections.
func (s *Server) Open(l net.Listener) io.Closer {
	srv := s.bounded()
	go func() { _ = srv.Serve(netutil.LimitListener(l, maxConns)) }() // ends with Close
	return srv
}

// ServeConn serves one connection, and returns when it is closed.
func (s *Server) ServeConn(conn net.Conn) {
	l := &once{conn: conn, done: make(chan struct{})}
	srv := s.bounded()
	srv.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			_ = l.Close()
		}
	}
	_ = srv.Serve(l) // it ends with the connection
}

func (s *Server) bounded() *http.Server {
	return &http.Server{Handler: s, ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0)} // about clients that misbehave
}

// once is a listener with one connection.
type once struct {
	conn   net.Conn
	taken  bool
	done   chan struct{}
	closed sync.Once
}

func (o *once) Accept() (net.Conn, error) {
	if !o.taken {
		o.taken = true
		return o.conn, nil
	}
	<-o.done
	return nil, net.ErrClosed
}

func (o *once) Close() error   { o.closed.Do(func() { close(o.done) }); return nil }
func (o *once) Addr() net.Addr { return o.conn.LocalAddr() }
