package felix

import (
	"crypto/sha256"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// Sign puts a comment at the head of each rule of a chain: cali: and a hash of the chain's name
// and of all rules up to this one (RuleHashes in felix/iptables/rules.go). By these Felix sees
// which rules have to be replaced. Of a built-in chain, the rules are those that Felix inserts.
func Sign(chain *iptables.Chain) {
	first := sha256.Sum224([]byte(chain.Name))
	last := first[:]
	for i := range chain.Rules {
		r := &chain.Rules[i]
		sum := sha256.Sum224(append(last, "-A "+chain.Name+" HASH"+words(r)...))
		last = sum[:]
		r.Matches = append([]iptables.Match{iptables.Comment{Text: "cali:" + encode(last)[:16]}}, r.Matches...)
	}
}
