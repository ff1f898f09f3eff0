package walk

import (
	"fmt"
	"slices"
	"sync"

	"github.com/netlab/netlab/datapath/plan/nft"
)

// nftSet is a set or map with an index of its elements.
type nftSet struct {
	*nft.Set
	once   sync.Once
	single map[string]int // by the text of a key without ranges
	ranges []int          // the other elements
}

// find returns the element that has a key, or nil.
func (s *nftSet) find(key []nft.Value) *nft.Element {
	s.once.Do(s.build)
	if i, ok := s.single[fmt.Sprint(key)]; ok {
		return &s.Elements[i]
	}
	for _, i := range s.ranges {
		if e := &s.Elements[i]; slices.EqualFunc(e.Key, key, nftHolds) {
			return e
		}
	}
	return nil
}

func (s *nftSet) build() {
	s.single = make(map[string]int, len(s.Elements))
	for i, e := range s.Elements {
		if slices.ContainsFunc(e.Key, isRange) {
			s.ranges = append(s.ranges, i)
			continue
		}
		s.single[fmt.Sprint(e.Key)] = i
	}
}

// isRange reports whether a value is a range.
func isRange(v nft.Value) bool {
	return v.Prefix.IsValid() && !v.Prefix.IsSingleIP() || v.First != v.Last || len(v.Name) > 0 && v.Name[len(v.Name)-1] == '*'
}

// nftFind looks fields of the packet up in a set; false: the packet lacks some of them.
func (v *visit) nftFind(t *nftTable, set string, fields []nft.Field) (e *nft.Element, ok bool, err error) {
	s := t.sets[set]
	if s == nil {
		return nil, false, fmt.Errorf("set %s does not exist", set)
	}
	key := make([]nft.Value, 0, len(fields))
	for _, f := range fields {
		value, ok, err := v.nftField(f)
		if !ok || err != nil {
			return nil, false, err
		}
		key = append(key, value)
	}
	return s.find(key), true, nil
}
