// Package origin records which object an element of a plan serves.
package origin

import "strconv"

// Ref is an object of the scenario and the place where it is written. File is the name
// given by the user, never an absolute path added by netlab, so that a plan is the same
// on every machine.
type Ref struct {
	Object string // service default/web, node node1
	File   string
	Line   int
}

// String is the place and the object: local-policy.hcl:40 service default/web. An
// object without a line stands alone.
func (r Ref) String() string { return string(r.append(nil)) }

// MarshalText returns the reference as String does.
func (r Ref) MarshalText() ([]byte, error) { return r.append(nil), nil }

func (r Ref) append(b []byte) []byte {
	if r.File != "" {
		b = strconv.AppendInt(append(append(b, r.File...), ':'), int64(r.Line), 10)
	}
	if r.Object != "" {
		if r.File != "" {
			b = append(b, ' ')
		}
		b = append(b, r.Object...)
	}
	return b
}

// AppendComment appends the reference as a comment line, or nothing if it is zero.
func (r Ref) AppendComment(b []byte) []byte {
	if r == (Ref{}) {
		return b
	}
	return append(r.append(append(b, "# "...)), '\n')
}
