package kubeapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// page is which part of a list is asked for (limit and continue in apimachinery,
// meta/v1.ListOptions). A list that goes on is that of one version: when objects have changed
// since, the client begins again.
type page struct {
	limit int // 0: all
	from  mark
}

// mark is where a list goes on. Clients return it as it is.
type mark struct {
	Version int64 `json:"v"` // of the list; 0: it begins
	Skip    int   `json:"skip"`
}

// pageOf reads the parameters of a request.
func pageOf(q url.Values) (p page, err error) {
	if text := q.Get("limit"); text != "" {
		if p.limit, err = strconv.Atoi(text); err != nil || p.limit < 0 {
			return p, badRequest(errors.New("invalid limit " + strconv.Quote(text)))
		}
	}
	text := q.Get("continue")
	if text == "" {
		if q.Get("resourceVersion") == "0" {
			p.limit = 0 // whoever takes any version gets the whole list, as from the cache of an API server
		}
		return p, nil
	}
	if v := q.Get("resourceVersion"); v != "" && v != "0" {
		return p, badRequest(errors.New("specifying resource version is not allowed when using continue"))
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &p.from)
	}
	if err != nil || p.from.Version <= 0 || p.from.Skip <= 0 {
		return p, badRequest(errors.New("continue key is not valid: it is none that a list ended with"))
	}
	return p, nil
}

// cut is the part of a selection at a version, and the metadata of the list. The rest is counted
// where it is known without a selector, as API servers do.
func (p page) cut(all []*entry, version int64, whole bool) ([]*entry, map[string]any, error) {
	meta := versioned(version)
	if p.from.Version != 0 {
		if p.from.Version != version || p.from.Skip > len(all) {
			return nil, nil, &failure{code: http.StatusGone, reason: "Expired",
				message: "the lab has changed since the list began: list without continue, from the beginning"}
		}
		all = all[p.from.Skip:]
	}
	if p.limit == 0 || p.limit >= len(all) {
		return all, meta, nil
	}
	next, err := json.Marshal(mark{Version: version, Skip: p.from.Skip + p.limit})
	if err != nil {
		return nil, nil, err
	}
	meta["continue"] = base64.RawURLEncoding.EncodeToString(next)
	if whole {
		meta["remainingItemCount"] = len(all) - p.limit
	}
	return all[:p.limit], meta, nil
}

// selected are the entries of a selection. It is computed in the turn of an answer.
func (s *selection) selected(all []*entry) (list []*entry) {
	for _, e := range all {
		if s.has(e) {
			list = append(list, e)
		}
	}
	return list
}

// elements writes the elements of a list.
func (o *out) elements(f form, list []*entry, now time.Time) {
	for i, e := range list {
		if o.begin(); i > 0 {
			o.write([]byte{','})
		}
		if o.write(f.element(e, now)); o.err != nil {
			return
		}
	}
}
