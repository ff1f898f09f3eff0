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
// Felix's words: cali40s:… for IPv4, cali60s:… for IPv6.
func SetName(ipv6 bool, selector string) string {
	return (mainSet(ipv6) + unique("s", selector))[:maxSet]
}

// PortSetName is the name of a set that has the addresses and numbers of a port by its name, of
// what a selector selects: cali40n:… or cali60n:… (UniqueID of IPSetData in felix/calc).
func PortSetName(ipv6 bool, selector, proto, name string) string {
	return (mainSet(ipv6) + unique("n", unique("s", selector)+","+proto+","+name))[:maxSet]
}

// AnyPod is the selector of all pods.
const AnyPod = "all()"

// HostsName is the name of the set with the addresses of all nodes.
func HostsName(ipv6 bool) string { return mainSet(ipv6) + "all-hosts-net" }

// unique is a name made of a hash (MakeUniqueID in libcalico-go/lib/hash).
func unique(prefix, text string) string {
	sum := sha256.Sum224([]byte(prefix + ":" + text))
	return prefix + ":" + encode(sum[:])
}

// mainSet begins the names of sets that rules match.
func mainSet(ipv6 bool) string {
	if ipv6 {
		return "cali60"
	}
	return "cali40"
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
