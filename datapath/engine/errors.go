package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/feature"
)

// UnsupportedError lists the kernel features that a plan needs and this machine lacks,
// and why.
type UnsupportedError struct {
	Missing map[feature.Feature]error
}

func (e *UnsupportedError) Error() string {
	var list []string
	for _, f := range slices.Sorted(maps.Keys(e.Missing)) {
		list = append(list, fmt.Sprintf("%s (%v)", f, e.Missing[f]))
	}
	return "this machine lacks what the lab needs: " + strings.Join(list, ", ")
}

// ErrEnded means that the lab went down during a request.
var ErrEnded = errors.New("the lab went down meanwhile")

// ErrBusy means that the command that created the lab is still running, and that the
// lab will end with it.
var ErrBusy = errors.New("the lab belongs to a command that is still running")

// ClashError means that the running lab of that name was made from another file.
type ClashError struct{ File string }

func (e *ClashError) Error() string {
	return "a lab of that name is already running, made from " + e.File
}

// ErrState means that the state folder cannot be written.
var ErrState = errors.New("state folder")

// ErrUnreachable means that a lab is running without a working control socket.
var ErrUnreachable = errors.New("no answer on the control socket")

var errClosed = errors.New("the lab is going down")
