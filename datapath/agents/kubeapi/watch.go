package kubeapi

import (
	"cmp"
	"net/http"
	"time"
)

const (
	watchTime    = time.Hour   // how long a watch lasts at most: clients begin another
	bookmarkTime = time.Minute // how often a quiet watch tells the version that it has reached
)

// watch answers with the changes of a selection until the client leaves, or time is over.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, kind *resource, from selection, o options) error {
	version := o.version
	var before []*entry
	if o.initial || version == 0 { // what there is comes first
		var err error
		if before, version, err = s.snapshot(kind, o.version); err != nil {
			return err
		}
	} else if err := s.store.read(func() error {
		if o.version > s.store.version {
			return tooNew(o.version, s.store.version)
		}
		return nil
	}); err != nil {
		return err
	}
	v := &view{out: s.out(w), kind: kind, from: from, form: formOf(r)}
	defer v.out.end()
	for _, e := range before {
		if v.out.begin(); from.has(e) {
			v.send("ADDED", e)
		}
	}
	if o.initial {
		v.bookmark(version, true)
	}
	end, tick := time.NewTimer(o.timeout), time.NewTicker(bookmarkTime)
	defer end.Stop()
	defer tick.Stop()
	for {
		var list []event
		var changed <-chan struct{}
		known := true
		if err := s.store.read(func() error {
			list, version, changed, known = s.store.since(version)
			return nil
		}); err != nil {
			return err
		}
		if !known {
			v.out.write([]byte(`{"type":"ERROR","object":`))
			v.out.write(encode(expired(o.version, version).status()))
			v.out.write([]byte("}\n"))
			v.out.flush()
			return nil
		}
		for _, c := range list {
			v.out.begin()
			v.change(c)
		}
		if !v.out.flush() {
			return nil
		}
		select {
		case <-changed:
		case <-tick.C:
			if o.bookmarks {
				v.bookmark(version, false)
			}
		case <-end.C:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}

// view is what a watch sends.
type view struct {
	out  *out
	kind *resource
	from selection
	form form
	sent bool
}

// change sends a change as the selection sees it: an object that leaves it is deleted.
func (v *view) change(c event) {
	if cmp.Or(c.now, c.old).resource != v.kind {
		return
	}
	switch was, is := v.from.has(c.old), v.from.has(c.now); {
	case was && is:
		v.send("MODIFIED", c.now)
	case is:
		v.send("ADDED", c.now)
	case was:
		last := c.old
		if last.version != c.version {
			last = last.again(c.version)
		}
		v.send("DELETED", last)
	}
}

func (v *view) send(kind string, e *entry) {
	v.out.write([]byte(`{"type":"` + kind + `","object":`))
	v.out.write(v.form.object(e, !v.sent, time.Now()))
	v.out.write([]byte("}\n"))
	v.sent = true
}

// bookmark tells the version that a watch has reached; the first one, that all objects that
// were there have been sent.
func (v *view) bookmark(version int64, initial bool) {
	meta := versioned(version)
	if initial {
		meta["annotations"] = map[string]any{"k8s.io/initial-events-end": "true"}
	}
	o := map[string]any{"kind": v.kind.kind, "apiVersion": v.kind.groupVersion(), "metadata": meta}
	switch {
	case v.form.table:
		o["kind"], o["apiVersion"], o["rows"], o["columnDefinitions"] = "Table", "meta.k8s.io/v1", []any{}, definitions(v.kind)
	case v.form.metadata:
		o["kind"], o["apiVersion"] = "PartialObjectMetadata", "meta.k8s.io/v1"
	}
	v.out.write([]byte(`{"type":"BOOKMARK","object":`))
	v.out.write(encode(o))
	v.out.write([]byte("}\n"))
}
