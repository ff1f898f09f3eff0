package plan

import "strconv"

// String is the place and the object: local-policy.hcl:40 service default/web.
// An object that no line asks for stands alone.
func (o Origin) String() string { return string(o.append(nil)) }

func (o Origin) append(b []byte) []byte {
	if o.File != "" {
		b = strconv.AppendInt(append(append(b, o.File...), ':'), int64(o.Line), 10)
	}
	if o.Object != "" {
		if o.File != "" {
			b = append(b, ' ')
		}
		b = append(b, o.Object...)
	}
	return b
}

// appendComment appends the origin as a comment line, or nothing when there is
// none.
func (o Origin) appendComment(b []byte) []byte {
	if o == (Origin{}) {
		return b
	}
	return append(o.append(append(b, "# "...)), '\n')
}
