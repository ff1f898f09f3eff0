package kubeapi

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server serves the objects of one cluster. Its methods may be called concurrently.
type Server struct {
	store   *store
	version string
	// turn is had by whoever computes an answer: however many ask, it is one processor's work.
	turn sync.Mutex
}

// New makes a server without objects. It says that it is of a version of Kubernetes, such as
// v1.35.0. Wherever an object has the text born, it gets the time at which the server first saw
// that object.
func New(version, born string) *Server {
	return &Server{store: newStore(born, time.Now), version: version}
}

// Set replaces all objects: a line of JSON for each, with apiVersion, kind and metadata, in
// any order. Watches see the difference. Until somebody has asked for an object it does nothing
// but keep the lines; after that it returns an error, and changes nothing, when a line is no
// object of a kind that is served.
func (s *Server) Set(lines []byte) error { return s.store.set(lines) }

// bodyLimit bounds what an agent may report at once, in bytes and in time.
const (
	bodyLimit    = 1 << 20
	bodyPatience = 10 * time.Second
)

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !reading || r.ContentLength != 0 {
		// Also where nobody reads the body: net/http waits for the rest of it.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyPatience))
	}
	if r.ContentLength != 0 && reading {
		w.Header().Set("Connection", "close")
		badRequest(errors.New("a request of this method has no body")).write(w)
		return
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch groupVersion, rest := groupAndVersion(path); {
	case groupVersion+"/"+strings.Join(rest, "/") == reviews:
		review(w, r)
	case groupVersion == "":
		s.about(w, path, reading)
	case len(rest) == 0:
		list := resourcesOf(groupVersion)
		switch {
		case list == nil:
			noResource().write(w)
		case !reading:
			readOnly().write(w)
		default:
			writeJSON(w, http.StatusOK, list)
		}
	default:
		s.resource(w, r, groupVersion, rest)
	}
}

// groupAndVersion are those of a path, as objects write them, and what comes after them.
func groupAndVersion(path []string) (groupVersion string, rest []string) {
	switch {
	case path[0] == "api" && len(path) > 1:
		return path[1], path[2:]
	case path[0] == "apis" && len(path) > 2:
		return path[1] + "/" + path[2], path[3:]
	}
	return "", nil
}

// about answers what is about the server, not about objects.
func (s *Server) about(w http.ResponseWriter, path []string, reading bool) {
	var answer any
	switch strings.Join(path, "/") {
	case "healthz", "livez", "readyz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ok")
		return
	case "version":
		answer = s.versionInfo()
	case "api":
		answer = coreVersions()
	case "apis":
		answer = groups()
	case "openapi/v2", "openapi/v3":
		noSchemas(w)
		return
	default:
		i := slices.IndexFunc(resources, func(r *resource) bool { return len(path) == 2 && path[0] == "apis" && r.group == path[1] })
		if i < 0 {
			noResource().write(w)
			return
		}
		answer = groupOf(resources[i], true)
	}
	if !reading {
		readOnly().write(w)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// resource answers requests about objects: RESOURCE, RESOURCE/NAME, and both after
// namespaces/NAMESPACE.
func (s *Server) resource(w http.ResponseWriter, r *http.Request, groupVersion string, path []string) {
	var from selection
	if len(path) > 2 && path[0] == "namespaces" {
		from.namespace, path = path[1], path[2:]
	}
	kind := find(groupVersion, path[0])
	alone := len(path) == 2
	if kind != nil && len(path) == 3 && (from.namespace != "") == kind.namespaced {
		subresource(kind, path[1], path[2]).write(w)
		return
	}
	if kind == nil || len(path) > 2 || from.namespace != "" && !kind.namespaced || alone && kind.namespaced && from.namespace == "" {
		noResource().write(w)
		return
	}
	if alone {
		from.name = path[1]
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost, http.MethodPatch:
		if kind.discardsNew {
			discard(w, r, kind, from)
			return
		}
		fallthrough
	default:
		w.Header().Set("Allow", "GET, HEAD")
		readOnly().write(w)
		return
	}
	var err error
	if alone {
		err = s.get(w, r, kind, from)
	} else {
		err = s.many(w, r, kind, from)
	}
	var refused *failure
	switch {
	case errors.As(err, &refused):
		refused.write(w)
	case err != nil:
		(&failure{code: http.StatusInternalServerError, reason: "InternalError", message: err.Error()}).write(w)
	}
}

// discard takes what an agent reports, and keeps nothing of it.
func discard(w http.ResponseWriter, r *http.Request, kind *resource, from selection) {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, bodyLimit)); err != nil {
		(&failure{code: http.StatusRequestEntityTooLarge, reason: "RequestEntityTooLarge", message: err.Error()}).write(w)
		return
	}
	code := http.StatusCreated
	if r.Method == http.MethodPatch {
		code = http.StatusOK
	}
	writeJSON(w, code, map[string]any{"kind": kind.kind, "apiVersion": kind.groupVersion(),
		"metadata": map[string]any{"name": cmp.Or(from.name, "discarded"), "namespace": from.namespace}})
}

// get answers with one object.
func (s *Server) get(w http.ResponseWriter, r *http.Request, kind *resource, from selection) error {
	var found *entry
	if err := s.store.read(func() error {
		found = s.store.objects[kind][from.namespace+"/"+from.name]
		return nil
	}); err != nil {
		return err
	}
	if found == nil {
		return notFound(kind, from.name)
	}
	o := s.out(w)
	defer o.end()
	o.begin()
	o.write(formOf(r).object(found, true, time.Now()))
	o.flush()
	return nil
}

// options are the parameters of a list or watch (apimachinery, meta/v1.ListOptions).
type options struct {
	version   int64 // 0: any
	exact     bool
	bookmarks bool
	initial   bool
	timeout   time.Duration
}

// many answers a list or a watch.
func (s *Server) many(w http.ResponseWriter, r *http.Request, kind *resource, from selection) error {
	q := r.URL.Query()
	var err error
	if from.labels, err = labelSelector(q.Get("labelSelector")); err != nil {
		return badRequest(err)
	}
	if from.fields, err = fieldSelector(q.Get("fieldSelector"), kind); err != nil {
		return badRequest(err)
	}
	var o options
	if v := q.Get("resourceVersion"); v != "" {
		if o.version, err = strconv.ParseInt(v, 10, 64); err != nil || o.version < 0 {
			return badRequest(errors.New("invalid resource version " + strconv.Quote(v)))
		}
	}
	is := func(name string) bool { yes, _ := strconv.ParseBool(q.Get(name)); return yes }
	o.exact, o.bookmarks, o.initial = q.Get("resourceVersionMatch") == "Exact", is("allowWatchBookmarks"), is("sendInitialEvents")
	o.timeout = watchTime
	if n, err := strconv.ParseInt(q.Get("timeoutSeconds"), 10, 64); err == nil && n > 0 {
		o.timeout = min(o.timeout, time.Duration(min(n, 1<<20))*time.Second)
	}
	if !is("watch") {
		return s.list(w, r, kind, from, o)
	}
	if o.initial && (q.Get("resourceVersionMatch") != "NotOlderThan" || !o.bookmarks) {
		return invalidWatch("sendInitialEvents: Forbidden: it needs resourceVersionMatch NotOlderThan and allowWatchBookmarks")
	}
	return s.watch(w, r, kind, from, o)
}

// list answers with the objects of a selection, or with a page of them.
func (s *Server) list(w http.ResponseWriter, r *http.Request, kind *resource, from selection, o options) error {
	p, err := pageOf(r.URL.Query())
	if err != nil {
		return err
	}
	all, version, err := s.snapshot(kind, o.version)
	if err != nil {
		return err
	}
	if o.exact && o.version != 0 && o.version != version {
		return expired(o.version, version)
	}
	f, now := formOf(r), time.Now()
	out := s.out(w)
	defer out.end()
	out.begin()
	list, meta, err := p.cut(from.selected(all), version, len(from.labels)+len(from.fields) == 0)
	if err != nil {
		return err
	}
	out.write(f.open(kind, meta))
	out.elements(f, list, now)
	out.write([]byte("]}\n"))
	out.flush()
	return nil
}

// snapshot are all objects of a kind, and the version at which they are so. A version that is
// not there yet is an error.
func (s *Server) snapshot(kind *resource, atLeast int64) (all []*entry, version int64, err error) {
	err = s.store.read(func() error {
		if version = s.store.version; atLeast > version {
			return tooNew(atLeast, version)
		}
		all = s.store.list(kind)
		return nil
	})
	return all, version, err
}
