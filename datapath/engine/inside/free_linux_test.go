package inside

import (
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A socket that somebody still has for a moment is waited for; one that stays is an error.
func TestAddressesThatAreInUseForAMoment(t *testing.T) {
	for _, stays := range []bool{false, true} {
		closed, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		file, err := closed.(*net.TCPListener).File() // what a child has of it
		if err != nil {
			t.Fatal(err)
		}
		closed.Close()
		if !stays {
			time.AfterFunc(50*time.Millisecond, func() { file.Close() })
		}
		var again net.Listener
		err = onceFree(func() (err error) {
			again, err = net.Listen("tcp4", closed.Addr().String())
			return err
		})
		if err == nil {
			again.Close()
		}
		if stays != errors.Is(err, unix.EADDRINUSE) {
			t.Errorf("while it stays %v: %v", stays, err)
		}
		file.Close()
	}
}
