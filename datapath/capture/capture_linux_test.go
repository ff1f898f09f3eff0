package capture

import (
	"slices"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
)

// The first packets of a socket may bear the time at which they were read.
func TestPacketsStayInTheOrderOfTheirSocket(t *testing.T) {
	at := func(link string, ttl int, ms time.Duration) stamped {
		return stamped{flow.Packet{Link: link, TTL: ttl}, ms * time.Millisecond}
	}
	var order []int
	for _, p := range inOrder([][]stamped{
		{at("a", 1, 90), at("a", 2, 91), at("a", 5, 30)}, // the first two were stamped when they were read
		{at("b", 3, 30), at("b", 6, 40)},
		{},
		{at("c", 4, 30)},
	}) {
		order = append(order, p.TTL)
	}
	if want := []int{1, 2, 5, 3, 4, 6}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}
