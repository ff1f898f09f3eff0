package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	utilipvs "k8s.io/kubernetes/pkg/proxy/ipvs/util"
	"k8s.io/kubernetes/pkg/proxy/ipvs/util/testing"
)

// servers are the virtual servers that kube-proxy has made, in place of the kernel's. Both families
// change them at once.
type servers struct {
	file    string
	mu      sync.Mutex
	store   *testing.FakeIPVS
	changed bool
}

func newServers(file string) *servers {
	return &servers{file: file, store: testing.NewFake(), changed: true}
}

// virtual is a virtual server as netlab's plans have it.
type virtual struct {
	Addr       netip.AddrPort `json:"address"`
	Proto      string         `json:"protocol"`
	Scheduler  string         `json:"scheduler"`
	Flags      []string       `json:"flags,omitempty"`
	Persistent int            `json:"persistentSeconds,omitempty"`
	Real       []realServer   `json:"realServers"`
}

type realServer struct {
	Addr   netip.AddrPort `json:"address"`
	Weight int            `json:"weight"`
}

// write writes the file soon after each change.
func (s *servers) write(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.changed {
			return
		}
		if err := s.save(); err != nil {
			klog.ErrorS(err, "The virtual servers are not written")
			return
		}
		s.changed = false
	}, 50*time.Millisecond)
}

func (s *servers) save() error {
	list := []virtual{}
	for key, x := range s.store.Services {
		v := virtual{Addr: addrPort(x.Address, x.Port), Proto: strings.ToLower(x.Protocol), Scheduler: x.Scheduler}
		flags := x.Flags &^ utilipvs.FlagHashed
		if flags&utilipvs.FlagPersistent != 0 {
			flags, v.Persistent = flags&^utilipvs.FlagPersistent, int(x.Timeout)
		}
		if flags&utilipvs.FlagSourceHash != 0 && x.Scheduler == "mh" {
			flags, v.Flags = flags&^utilipvs.FlagSourceHash, []string{"mh-port"}
		}
		if flags != 0 {
			return fmt.Errorf("virtual server %s has flags %#x", x, flags)
		}
		for _, r := range s.store.Destinations[key] {
			v.Real = append(v.Real, realServer{addrPort(r.Address, r.Port), r.Weight})
		}
		slices.SortFunc(v.Real, func(a, b realServer) int { return a.Addr.Compare(b.Addr) })
		list = append(list, v)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.file+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(s.file+".new", s.file)
}

func addrPort(ip net.IP, port uint16) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), port)
}

func duration(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }

// change is one of the methods below, which are those of utilipvs.Interface.
func (s *servers) change(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
	return do()
}

func (s *servers) Flush() error {
	return s.change(func() error { s.store = testing.NewFake(); return nil })
}

func (s *servers) AddVirtualServer(v *utilipvs.VirtualServer) error {
	return s.change(func() error { return s.store.AddVirtualServer(v) })
}

func (s *servers) UpdateVirtualServer(v *utilipvs.VirtualServer) error {
	return s.change(func() error { return s.store.UpdateVirtualServer(v) })
}

func (s *servers) DeleteVirtualServer(v *utilipvs.VirtualServer) error {
	return s.change(func() error { return s.store.DeleteVirtualServer(v) })
}

func (s *servers) AddRealServer(v *utilipvs.VirtualServer, r *utilipvs.RealServer) error {
	return s.change(func() error { return s.store.AddRealServer(v, r) })
}

func (s *servers) DeleteRealServer(v *utilipvs.VirtualServer, r *utilipvs.RealServer) error {
	return s.change(func() error { return s.store.DeleteRealServer(v, r) })
}

func (s *servers) UpdateRealServer(v *utilipvs.VirtualServer, r *utilipvs.RealServer) error {
	return s.change(func() error { return s.store.UpdateRealServer(v, r) })
}

func (s *servers) GetVirtualServer(v *utilipvs.VirtualServer) (*utilipvs.VirtualServer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.GetVirtualServer(v)
}

func (s *servers) GetVirtualServers() ([]*utilipvs.VirtualServer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.GetVirtualServers()
}

func (s *servers) GetRealServers(v *utilipvs.VirtualServer) ([]*utilipvs.RealServer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := s.store.GetRealServers(v)
	return slices.Clone(list), err
}

func (s *servers) ConfigureTimeouts(_, _, _ time.Duration) error { return nil }
