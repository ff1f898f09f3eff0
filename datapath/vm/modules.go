package vm

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// dependencies lists for each module of a kernel, by its path below the kernel's
// folder, which others are loaded before it: last one first (modules.dep(5)).
type dependencies map[string][]string

func parseDependencies(text string) (dependencies, error) {
	d := dependencies{}
	for line := range strings.Lines(text) {
		name, needs, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			return nil, fmt.Errorf("modules.dep: no colon in %q", line)
		}
		d[name] = strings.Fields(needs)
	}
	return d, nil
}

// moduleName is the name by which the kernel knows a module's file.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// find returns the file of a module, or nothing if it is built in or missing.
func (d dependencies) find(name string) string {
	for file := range d {
		if moduleName(file) == name {
			return file
		}
	}
	return ""
}

// order returns the files to load for a module, in that order.
func (d dependencies) order(file string) []string {
	list := append([]string{file}, d[file]...)
	slices.Reverse(list)
	return list
}

// choose returns the files that match a pattern, with all that they need, sorted. A
// pattern is that of path.Match, for a file without what follows .ko, or a folder that
// ends in a slash. One that starts with ! removes what earlier ones chose.
func (d dependencies) choose(patterns []string) []string {
	chosen := map[string]bool{}
	for file := range d {
		stem, _, _ := strings.Cut(file, ".ko")
		in := false
		for _, p := range patterns {
			p, out := strings.CutPrefix(p, "!")
			if matchesModule(p, stem) {
				in = !out
			}
		}
		if in {
			for _, f := range d.order(file) {
				chosen[f] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(chosen))
}

func matchesModule(pattern, stem string) bool {
	if strings.HasSuffix(pattern, "/") {
		return strings.HasPrefix(stem, pattern)
	}
	ok, _ := path.Match(pattern, stem)
	return ok
}

// wantedModules are the modules that labs and the machine itself can use.
func wantedModules() []string {
	list := []string{
		"kernel/net/",
		"kernel/drivers/virtio/virtio", "kernel/drivers/virtio/virtio_ring", "kernel/drivers/virtio/virtio_pci*",
		"kernel/drivers/char/virtio_console", "kernel/drivers/char/hw_random/virtio-rng",
		"kernel/drivers/net/wireguard/", "kernel/drivers/net/vxlan/", "kernel/drivers/net/bonding/", "kernel/drivers/net/ipvlan/",
	}
	for _, name := range []string{"dummy", "veth", "vxlan", "geneve", "bareudp", "gtp", "ifb", "tun", "vrf", "macvlan", "macvtap", "nlmon"} {
		list = append(list, "kernel/drivers/net/"+name)
	}
	// Loaded by name when sctp, wireguard, esp or a set asks for an algorithm.
	for _, name := range []string{"crc32c*", "sha*", "hmac", "cmac", "chacha*", "poly1305*", "curve25519*", "blake2*", "md5", "aes*", "gcm", "ghash*", "crypto_null", "seqiv", "echainiv", "rng", "drbg", "cbc", "ctr"} {
		list = append(list, "kernel/crypto/"+name, "kernel/arch/*/crypto/"+name, "kernel/lib/crypto/"+name)
	}
	for _, name := range []string{"9p", "appletalk", "atm", "ax25", "batman-adv", "bluetooth", "caif", "can", "ceph", "dccp", "dsa", "hsr", "ieee802154", "kcm", "l2tp", "lapb",
		"mac80211", "mac802154", "ncsi", "netrom", "nfc", "phonet", "qrtr", "rds", "rfkill", "rose", "rxrpc", "smc", "sunrpc", "tipc", "vmw_vsock", "wireless", "x25", "xdp"} {
		list = append(list, "!kernel/net/"+name+"/")
	}
	return list
}

// loadedModules are loaded by init: what the guest needs to talk to the host, and what labs
// need, but no rule, link or socket names.
func loadedModules() []string {
	return []string{"virtio_pci", "virtio_console", "virtio_rng", "br_netfilter", "ip_vs", "tun", "nf_conntrack_netlink"}
}
