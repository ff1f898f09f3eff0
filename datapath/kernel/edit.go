//go:build linux

package kernel

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// edit changes a namespace that stays: what is added before what goes, so that
// no packet meets a gap. Links that go are left to prune, since most of them are
// ends of veths that vanish with the namespace at their other end.
func (w *work) edit(h netns.Here, e plan.Edit) error {
	s := w.k.spaces[e.Netns]
	if err := h.Enter(s.ns); err != nil {
		return err
	}
	if err := s.open(w.k); err != nil {
		return err
	}
	if err := w.editLinks(s, e); err != nil {
		return err
	}
	if err := w.needIPVS(&e.Add); err != nil {
		return err
	}
	if _, err := w.sysctls(append(e.Add.Sysctls, e.Change.Sysctls...), false); err != nil {
		return err
	}
	replace := unix.NLM_F_CREATE | unix.NLM_F_REPLACE
	for _, n := range []plan.Netns{e.Change, e.Add} {
		batch, err := w.additions(s, n, replace)
		if err != nil {
			return err
		}
		if err := s.sock.do(batch); err != nil {
			return err
		}
	}
	if err := w.reshape(s, &e); err != nil {
		return err
	}
	if err := w.growSets(s, &e); err != nil {
		return err
	}
	if len(e.Tables) > 0 {
		w.rules.load(e.Netns, s, e.Tables)
	}
	w.rules.nftLoad(e.Netns, s, e.NFT)
	gone, err := w.deletions(s, e.Delete)
	if err == nil {
		err = s.sock.do(gone)
	}
	if err != nil {
		return err
	}
	if w.k.hooks.Enter == nil {
		return nil
	}
	add, remove := e.Add, e.Delete
	add.Agents = append(add.Agents, e.Change.Agents...)
	add.Execs = append(add.Execs, e.Change.Execs...)
	remove.Agents = append(remove.Agents, e.Change.Agents...)
	remove.Execs = append(remove.Execs, e.Change.Execs...)
	return w.k.hooks.Enter(h, e.Netns, add, remove)
}

// reshape makes the qdiscs of links. One that differs is made anew: what is in its
// queue is lost, as it is when somebody replaces it by hand.
func (w *work) reshape(s *space, e *plan.Edit) error {
	batch := s.unshape(append(e.Delete.Qdiscs, e.Change.Qdiscs...))
	made, err := s.shape(append(e.Change.Qdiscs, e.Add.Qdiscs...))
	if err != nil {
		return err
	}
	return s.sock.do(append(batch, made...))
}

// editLinks makes missing links, and changes those that differ. A link that is
// both deleted and added cannot be changed in place: it is made anew.
func (w *work) editLinks(s *space, e plan.Edit) error {
	for _, l := range e.Add.Links {
		if isIn(e.Delete.Links, l.Name) && !w.made[plan.Peer{Netns: e.Netns, Link: l.Name}] {
			if err := s.sock.do([]message{linkDel(l.Name, ipText("link del dev %s", l.Name))}); err != nil {
				return err
			}
			delete(s.index, l.Name)
		}
		if _, err := s.indexOf(l.Name); err == nil && !w.made[plan.Peer{Netns: e.Netns, Link: l.Name}] {
			// There, but down: raise it, and let the next look tell what else differs.
			if err := w.alter(s, l); err != nil {
				return err
			}
			continue
		}
		if err := w.addLink(s, e.Netns, l); err != nil {
			return err
		}
	}
	for _, l := range e.Change.Links {
		if w.made[plan.Peer{Netns: e.Netns, Link: l.Name}] {
			continue
		}
		if err := w.alter(s, l); err != nil {
			return err
		}
	}
	return nil
}

func isIn(list []plan.Link, name string) bool {
	return slices.ContainsFunc(list, func(l plan.Link) bool { return l.Name == name })
}

func (w *work) alter(s *space, l plan.Link) error {
	i, err := s.indexOf(l.Name)
	if err != nil {
		return err
	}
	e := end{link: l, index: i}
	if l.Master != "" {
		if e.master, err = s.indexOf(l.Master); err != nil {
			return err
		}
	}
	batch := []message{linkChange(e, ipText("link set dev %s mtu %d master %q up", l.Name, l.MTU, l.Master))}
	if l.Master != "" {
		batch = append(batch, hairpinSet(l.Name, l.Hairpin, ipText("link set dev %s type bridge_slave hairpin", l.Name)))
	}
	return s.sock.do(batch)
}

func (w *work) addLink(s *space, name string, l plan.Link) error {
	at := linkAt{Link: l}
	if l.Type != plan.Veth {
		made, err := w.device(s, at)
		if err != nil {
			return err
		}
		return s.sock.do(made)
	}
	if !w.made[plan.Peer{Netns: name, Link: l.Name}] {
		other, ok := w.k.spaces[l.Peer.Netns]
		if !ok || other == s {
			return nil // the other end's namespace is not there: the next pass tells
		}
		// The other end may still exist, joined to something else.
		if err := other.open(w.k); err != nil {
			return err
		}
		if err := other.sock.do([]message{linkDel(l.Peer.Link, ipText("link del dev %s", l.Peer.Link))}); err != nil {
			return err
		}
		delete(other.index, l.Peer.Link)
		if err := w.pair(name, s, at); err != nil {
			return err
		}
	}
	i, err := s.indexOf(l.Name)
	if err != nil {
		return err
	}
	at.index = i
	return s.sock.do([]message{w.raise(s, at)})
}

// patience is how long the kernel may take to remove the far ends of veths whose
// namespaces were given back, before we remove them ourselves.
const patience = 2 * time.Second

// prune waits until the links that must go are gone. Ends of veths go by
// themselves when the other end's namespace does, in bulk; deleting each takes
// the kernel a grace period.
func (k *Kernel) prune(ctx context.Context, edits []plan.Edit) error {
	for _, e := range edits {
		s, ok := k.spaces[e.Netns]
		if !ok || len(e.Delete.Links) == 0 {
			continue
		}
		if err := s.open(k); err != nil {
			return err
		}
		s.index = map[string]int{}
		for _, l := range e.Delete.Links {
			if isIn(e.Add.Links, l.Name) {
				continue
			}
			if err := k.awaitGone(ctx, s, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *Kernel) awaitGone(ctx context.Context, s *space, l plan.Link) error {
	_, stays := k.spaces[l.Peer.Netns]
	deadline := time.Now().Add(patience)
	for l.Type == plan.Veth && !stays && time.Now().Before(deadline) {
		if _, err := s.indexOf(l.Name); errors.Is(err, unix.ENODEV) {
			return nil
		}
		delete(s.index, l.Name)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
	return s.sock.do([]message{linkDel(l.Name, ipText("link del dev %s", l.Name))})
}
