package policy

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// Hash is the end of names of chains and sets: length characters, at most 52, of a hash
// of the parts. A chain's name has at most 28 characters, a set's 31.
func Hash(length int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return base32.StdEncoding.EncodeToString(sum[:])[:length]
}
