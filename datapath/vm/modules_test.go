package vm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const someModules = `kernel/net/netfilter/ipvs/ip_vs.ko: kernel/net/netfilter/nf_conntrack.ko kernel/lib/libcrc32c.ko
kernel/net/netfilter/ipvs/ip_vs_rr.ko: kernel/net/netfilter/ipvs/ip_vs.ko kernel/net/netfilter/nf_conntrack.ko kernel/lib/libcrc32c.ko
kernel/net/netfilter/nf_conntrack.ko: kernel/lib/libcrc32c.ko
kernel/lib/libcrc32c.ko:
kernel/net/wireless/cfg80211.ko.xz:
kernel/drivers/net/dummy.ko.zst:
kernel/drivers/net/ethernet/intel/e1000.ko:
kernel/drivers/char/hw_random/virtio-rng.ko:
`

func TestModulesIncludeTheirDependencies(t *testing.T) {
	deps, err := parseDependencies(someModules)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name     string
		patterns []string
		want     []string
	}{
		{"nothing chosen", nil, nil},
		{"a file brings what it needs", []string{"kernel/net/netfilter/ipvs/ip_vs"},
			[]string{"kernel/lib/libcrc32c.ko", "kernel/net/netfilter/ipvs/ip_vs.ko", "kernel/net/netfilter/nf_conntrack.ko"}},
		{"compressed files match without their ending", []string{"kernel/drivers/net/dummy"}, []string{"kernel/drivers/net/dummy.ko.zst"}},
		{"a star does not cross folders", []string{"kernel/drivers/net/*"}, []string{"kernel/drivers/net/dummy.ko.zst"}},
		{"the last pattern that matches decides", []string{"kernel/net/", "!kernel/net/wireless/", "!kernel/net/netfilter/ipvs/"},
			[]string{"kernel/lib/libcrc32c.ko", "kernel/net/netfilter/nf_conntrack.ko"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, deps.choose(row.patterns)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestModulesAreLoadedAfterTheirDependencies(t *testing.T) {
	deps, err := parseDependencies(someModules)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"kernel/lib/libcrc32c.ko", "kernel/net/netfilter/nf_conntrack.ko", "kernel/net/netfilter/ipvs/ip_vs.ko", "kernel/net/netfilter/ipvs/ip_vs_rr.ko"}
	if diff := cmp.Diff(want, deps.order(deps.find("ip_vs_rr"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := deps.find("virtio_rng"); got != "kernel/drivers/char/hw_random/virtio-rng.ko" {
		t.Errorf("virtio_rng is %q", got)
	}
	if got := deps.find("ext4"); got != "" {
		t.Errorf("ext4 is %q", got)
	}
	if _, err := parseDependencies("no colon here\n"); err == nil {
		t.Error("a line without a colon is accepted")
	}
}
