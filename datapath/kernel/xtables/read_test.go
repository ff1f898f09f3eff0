//go:build linux

package xtables

import "testing"

func TestIPIPHasOneName(t *testing.T) {
	for have, want := range map[string]string{
		`-p 4 -m comment --comment "-p 4 stays" -j DROP`:    `-p ipencap -m comment --comment "-p 4 stays" -j DROP`,
		"-s 10.0.0.1/32 -p ipv4 -j DROP":                    "-s 10.0.0.1/32 -p ipencap -j DROP",
		"-p ipencap -m set --match-set hosts src -j ACCEPT": "-p ipencap -m set --match-set hosts src -j ACCEPT",
		"-p tcp -m tcp --dport 4 -j ACCEPT":                 "-p tcp -m tcp --dport 4 -j ACCEPT",
		"-p 47 -j ACCEPT":                                   "-p 47 -j ACCEPT",
		`-m comment --comment "x" -p 4 -j DROP`:             `-m comment --comment "x" -p 4 -j DROP`,
	} {
		if got := named(have); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
