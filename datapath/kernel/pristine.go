//go:build linux

package kernel

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/netns"
)

// pristine is what the kernel gives a new namespace: the settings of its links, and others.
type pristine struct {
	inet, inet6 []uint32
	settings    map[string]string
}

// fresh reads them, once, from a namespace made for that.
func (k *Kernel) fresh(h netns.Here) (*pristine, error) {
	if k.pristine != nil {
		return k.pristine, nil
	}
	ns, err := h.Create()
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	sock, err := socket.OpenRoute(k.memory)
	if err != nil {
		return nil, err
	}
	defer sock.Close()
	p := &pristine{settings: map[string]string{}}
	list, err := sock.Dump(unix.RTM_GETLINK, linkDump())
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		attrs, err := socket.Attrs(m, unix.SizeofIfInfomsg)
		if err != nil {
			return nil, err
		}
		if binary.NativeEndian.Uint32(m[unix.NLMSG_HDRLEN+4:]) == loopback {
			p.inet, p.inet6 = linkSettings(attrs)
		}
	}
	read := func(folder string, names []string) error {
		values, err := k.proc.GetAll(folder, names)
		for i, value := range values {
			p.settings[folder+"."+names[i]] = value
		}
		return err
	}
	for _, s := range settings {
		if err := read(s.folder, s.names); err != nil {
			return nil, err
		}
	}
	for _, tree := range neighTrees {
		if err := read(tree+".lo", resolving); err != nil {
			return nil, err
		}
	}
	k.pristine = p
	return p, nil
}

// loopback is the index of lo in every namespace.
const loopback = 1
