package zone

import (
	"slices"
	"strings"
)

// Index is records as a name server finds them. The zero Index is empty. It is not safe for
// concurrent use while it changes.
type Index struct {
	records map[string][]Record
	inner   map[string]int // names that others are below, with how many
}

// NewIndex returns an index of records.
func NewIndex(records []Record) *Index {
	x := &Index{}
	x.Add(records)
	return x
}

// Add adds records.
func (x *Index) Add(records []Record) {
	if x.records == nil {
		x.records, x.inner = map[string][]Record{}, map[string]int{}
	}
	for _, r := range records {
		x.records[r.Name] = append(x.records[r.Name], r)
		slices.SortFunc(x.records[r.Name], Record.Compare)
		for up := above(r.Name); up != ""; up = above(up) {
			x.inner[up]++
		}
	}
}

// Remove removes records. Those that are not there are ignored.
func (x *Index) Remove(records []Record) {
	for _, r := range records {
		i := slices.IndexFunc(x.records[r.Name], func(o Record) bool { return o.Key() == r.Key() })
		if i < 0 {
			continue
		}
		if x.records[r.Name] = slices.Delete(x.records[r.Name], i, i+1); len(x.records[r.Name]) == 0 {
			delete(x.records, r.Name)
		}
		for up := above(r.Name); up != ""; up = above(up) {
			if x.inner[up]--; x.inner[up] == 0 {
				delete(x.inner, up)
			}
		}
	}
}

// Empty reports whether there is no record.
func (x *Index) Empty() bool { return len(x.records) == 0 }

// above is the name without its first label.
func above(name string) string {
	_, up, _ := strings.Cut(name, ".")
	return up
}

// Answer is what a name server answers.
type Answer struct {
	// Missing says that there is no such name (NXDOMAIN). Without records, and not Missing, the
	// name has none of that type (NODATA).
	Missing bool
	// Records are aliases in the order in which they are followed, then what was asked for.
	Records []Record
	// More are the addresses of names in Records (the additional section).
	More []Record
	// Zone is the SOA record of the innermost zone that the name is in, or to which aliases lead
	// from it; nil: it is in none.
	Zone *Record
}

// maxAliases bounds a chain of aliases, as resolvers do.
const maxAliases = 8

// Answer answers a question as a server does that knows all names there are: it has nobody
// to ask for others, so that a name that it does not have does not exist (RFC 1034, section
// 4.3.2; RFC 2308). Case does not matter (RFC 4343).
func (x *Index) Answer(name string, of Type) (out Answer) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	for range maxAliases {
		var alias string
		for _, r := range x.records[name] {
			if r.Type == of || r.Type == CNAME {
				out.Records = append(out.Records, r)
			}
			if r.Type == CNAME && of != CNAME {
				alias = r.Value
			}
		}
		if alias == "" {
			break
		}
		name = strings.ToLower(alias)
	}
	out.Missing = len(x.records[name]) == 0 && x.inner[name] == 0 && name != ""
	out.Zone = x.zone(name)
	if of == SRV || of == NS {
		var told []string
		for _, r := range out.Records {
			if r.Type != of || slices.Contains(told, r.Value) {
				continue
			}
			told = append(told, r.Value)
			for _, a := range x.records[r.Value] {
				if a.Type == A || a.Type == AAAA {
					out.More = append(out.More, a)
				}
			}
		}
	}
	return out
}

// zone is the SOA record of the innermost zone that a name is in, or nil.
func (x *Index) zone(name string) *Record {
	for ; name != ""; name = above(name) {
		for _, r := range x.records[name] {
			if r.Type == SOA {
				return &r
			}
		}
	}
	return nil
}

// Values are those of the records of a type in the answer.
func (a Answer) Values(of Type) (list []string) {
	for _, r := range a.Records {
		if r.Type == of {
			list = append(list, r.Value)
		}
	}
	return list
}
