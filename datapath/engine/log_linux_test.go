//go:build linux

package engine

import (
	"os"
	"testing"
)

func TestLastWordsOfAnEngine(t *testing.T) {
	for _, row := range []struct{ name, log, want string }{
		{"killed", "", ""},
		{"its own", "netlab engine: make mounts private: invalid argument\n", "make mounts private: invalid argument"},
		{"the last line counts", "netlab engine: after a change: b\nnetlab engine: a\n", "a"},
		{"of the runtime, with one stack", "netlab engine: after a change: b\npanic: no\n\ngoroutine 7 [running]:\nmain.f()\n\ngoroutine 1 [select]:\nmain.main()\n",
			"panic: no\n\ngoroutine 7 [running]:\nmain.f()"},
		{"of another", "somebody else: netlab engine: a\n", ""},
	} {
		if got := lastWords(row.log); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// A lab without a folder has a log, too, to which every writer appends.
func TestTheLogOfALabWithoutAFolderIsMemory(t *testing.T) {
	log, err := openLog(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, line := range []string{"netlab engine: a\n", "netlab engine: b\n"} {
		if _, err := log.WriteString(line); err != nil {
			t.Fatal(err)
		}
	}
	c := &Client{log: log}
	if got, want := c.lost(os.ErrClosed).Error(), ErrEnded.Error()+": b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
