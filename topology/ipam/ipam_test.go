package ipam

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestAFullPoolHandsOutEveryAddressOnce(t *testing.T) {
	pool := NewAddrPool(netip.MustParsePrefix("10.0.0.0/24"))
	seen := map[netip.Addr]bool{}
	for i := range 254 {
		a, ok := pool.Assign(fmt.Sprint(i), pool.All(), "x")
		if !ok || seen[a] || !pool.Prefix.Contains(a) {
			t.Fatalf("%d: %v %v", i, a, ok)
		}
		seen[a] = true
	}
	if a, ok := pool.Assign("one more", pool.All(), "x"); ok {
		t.Errorf("got %v from a full pool", a)
	}
	if seen[netip.MustParseAddr("10.0.0.0")] || seen[netip.MustParseAddr("10.0.0.255")] {
		t.Error("network or broadcast address handed out")
	}
}

func TestNthBlockCountsAcrossTheMiddleOfAnIPv6Address(t *testing.T) {
	tests := []struct {
		prefix string
		bits   int
		n      uint64
		want   string
	}{
		{"10.244.0.0/16", 24, 3, "10.244.3.0/24"},
		{"10.0.0.0/8", 32, 256, "10.0.1.0/32"},
		{"fd00::/48", 64, 2, "fd00:0:0:2::/64"},
		{"fd00::/60", 68, 17, "fd00:0:0:1:1000::/68"},
		{"fd00::/112", 128, 10, "fd00::a/128"},
	}
	for _, tt := range tests {
		if got := NthBlock(netip.MustParsePrefix(tt.prefix), tt.bits, tt.n).String(); got != tt.want {
			t.Errorf("block %d of /%d in %s: got %s, want %s", tt.n, tt.bits, tt.prefix, got, tt.want)
		}
	}
}
