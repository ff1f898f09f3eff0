package resolve

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// key is the private key of a node: what the file says, or one derived from the names of
// the lab and the node, which makes labs equal whenever they are built, and hides nothing.
func (r *resolver) key(n *topology.Node, o topology.Opt[string]) (key topology.Key) {
	switch {
	case !r.Lab.Network.Mode.NodeKeys && !o.Set:
		return key
	case !r.Lab.Network.Mode.NodeKeys:
		r.Errorf(draft.At(o.Origin), "Key without use", "Nodes have no keys in network mode %s. Remove the key, or choose a mode in which they have: %s.", r.Lab.Network.Mode.Name, r.modesWithKeys())
		return key
	case !o.Set:
		key = sha256.Sum256([]byte("netlab key\x00" + r.Lab.Name + "\x00" + n.Name))
	default:
		decoded, err := base64.StdEncoding.DecodeString(o.Value)
		if err != nil {
			r.Errorf(draft.At(o.Origin), "Invalid key", "The key is not base64. Write 44 characters as wg genkey prints them, or leave the key out.")
			return key
		}
		if len(decoded) != len(key) {
			r.Errorf(draft.At(o.Origin), "Key of wrong length", "The key has %d bytes, but must have %d. Write 44 characters as wg genkey prints them, or leave the key out.", len(decoded), len(key))
			return key
		}
		key = topology.Key(decoded)
	}
	// The bits that every such key has (RFC 7748, 5): the kernel sets them, too.
	key[0] &= 248
	key[31] = key[31]&127 | 64
	for _, other := range r.Declared {
		if other != n && other.Key == key {
			r.Errorf(draft.At(o.Origin), "Key is taken", "Node %q has the same key, and a key is all by which nodes know each other. Give each node its own.", other.Name)
			break
		}
	}
	return key
}

// modesWithKeys are the network modes in which nodes have keys, for messages.
func (r *resolver) modesWithKeys() string {
	var names []string
	for _, m := range r.Catalogue.Networks {
		if m.NodeKeys {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}
