package userspace

import (
	"errors"
	"io"
	"net"
	"time"
)

// pause is how long the proxy waits when it cannot accept, as without descriptors.
const pause = 10 * time.Millisecond

func (x *port) acceptAll(l *net.TCPListener) {
	for {
		in, err := l.AcceptTCP()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(pause)
			continue
		}
		// Here, not in the goroutine: clients have their turns in the order in which they come.
		client := in.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
		first, ok := x.balancer.take(client)
		if !ok || !x.keep(in) {
			refuse(in)
			continue
		}
		x.room <- struct{}{}
		x.wait.Go(func() {
			defer func() { x.drop(in); <-x.room }()
			out, ok := x.connect(first, client)
			if !ok {
				refuse(in)
				return
			}
			defer x.drop(out)
			splice(in, out)
		})
	}
}

// refuse ends a connection with a reset. If it were only closed, the client could as well take
// that for an empty answer.
func refuse(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// splice copies in both directions until either end closes its own.
func splice(a, b net.Conn) {
	done := make(chan struct{}, 2)
	copyAll := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_, _ = to.Close(), from.Close()
		done <- struct{}{}
	}
	go copyAll(a, b)
	copyAll(b, a)
	<-done
	<-done
}
