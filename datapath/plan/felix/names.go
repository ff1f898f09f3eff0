package felix

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// The longest names of chains and sets, in bytes, without the zero byte at their end.
const (
	maxChain = 28 // Felix's limit; the kernel's is XT_EXTENSION_MAXNAMELEN
	maxSet   = 31 // IPSET_MAXNAMELEN
)

// ChainName is the name of a chain: a prefix and an ID, or a hash of the ID where that is too
// long (GetLengthLimitedID in felix/hashutils).
func ChainName(prefix, id string) string {
	if all := len(prefix) + len(id); all < maxChain || all == maxChain && !strings.HasPrefix(id, "_") {
		return prefix + id
	}
	sum := sha256.Sum256([]byte(id))
	return prefix + "_" + encode(sum[:])[:maxChain-1-len(prefix)]
}

// SetName is the name of a set that has the addresses of what a selector selects, given in
// Felix's words: cali40s:… for IPv4, cali60s:… for IPv6 (MakeUniqueID in libcalico-go/lib/hash).
func SetName(ipv6 bool, selector string) string {
	sum := sha256.Sum224([]byte("s:" + selector))
	return (mainSet(ipv6) + "s:" + encode(sum[:]))[:maxSet]
}

// mainSet begins the names of sets that rules match.
func mainSet(ipv6 bool) string {
	if ipv6 {
		return "cali60"
	}
	return "cali40"
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
