package kubeapi

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// form is how a client wants to see objects: whole, as rows of a table (kubectl get), or their
// metadata alone.
type form struct {
	table    bool
	metadata bool   // only
	include  string // what comes with a row: None, Metadata or Object
}

// formOf reads what a client accepts. JSON is what everybody gets, also who would like protobuf.
func formOf(r *http.Request) form {
	f := form{include: "Metadata"}
	if i := r.URL.Query().Get("includeObject"); i != "" {
		f.include = i
	}
	for one := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		kind, params, err := mime.ParseMediaType(one)
		if err != nil || kind != "application/json" && kind != "*/*" {
			continue
		}
		if params["g"] == "meta.k8s.io" && params["v"] == "v1" {
			f.table = params["as"] == "Table"
			f.metadata = strings.HasPrefix(params["as"], "PartialObjectMetadata")
			if f.table || f.metadata {
				return f
			}
			continue
		}
		return f
	}
	return f
}

// object is an entry as the client wants to see it, alone; the first of several brings the
// columns of a table.
func (f form) object(e *entry, first bool, now time.Time) []byte {
	switch {
	case f.table:
		t := map[string]any{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": versioned(e.version), "rows": []any{f.row(e, now)}}
		if first {
			t["columnDefinitions"] = definitions(e.resource)
		} else {
			t["columnDefinitions"] = nil
		}
		return encode(t)
	case f.metadata:
		return encode(partial(e))
	}
	return e.encoded
}

// element is an entry as an element of a list.
func (f form) element(e *entry, now time.Time) []byte {
	if f.table {
		return encode(f.row(e, now))
	}
	return f.object(e, false, now)
}

// open is a list up to its elements.
func (f form) open(r *resource, meta map[string]any) []byte {
	head := map[string]any{"kind": r.kind + "List", "apiVersion": r.groupVersion(), "metadata": meta}
	list := `,"items":[`
	switch {
	case f.table:
		head = map[string]any{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "columnDefinitions": definitions(r)}
		list = `,"rows":[`
	case f.metadata:
		head["kind"], head["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	b := encode(head)
	return append(b[:len(b)-1], list...)
}

func versioned(version int64) map[string]any {
	return map[string]any{"resourceVersion": strconv.FormatInt(version, 10)}
}

func partial(e *entry) map[string]any {
	return map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": at(e.object, "metadata")}
}

func (f form) row(e *entry, now time.Time) map[string]any {
	cells := []any{}
	for _, c := range e.resource.columns {
		cells = append(cells, c.cell(e, now))
	}
	row := map[string]any{"cells": cells}
	switch f.include {
	case "Object":
		row["object"] = e.object
	case "Metadata":
		row["object"] = partial(e)
	}
	return row
}

func definitions(r *resource) []any {
	var list []any
	for _, c := range r.columns {
		kind, priority := c.cellType, 0
		if kind == "" {
			kind = "string"
		}
		if c.wide {
			priority = 1
		}
		list = append(list, map[string]any{"name": c.name, "type": kind, "format": c.format, "description": "", "priority": priority})
	}
	return list
}
