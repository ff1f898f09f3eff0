// Command kube-proxy-recorded is Kubernetes' own kube-proxy in mode ipvs for a kernel without IPVS:
// its rules and sets are real, its virtual servers are written to a file. It takes the flags that
// netlab gives to kube-proxy.
package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/vishvananda/netlink"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-helpers/node/util/sysctl/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-proxy/app"
	"k8s.io/kubernetes/pkg/proxy"
	"k8s.io/kubernetes/pkg/proxy/apis/config"
	"k8s.io/kubernetes/pkg/proxy/healthcheck"
	"k8s.io/kubernetes/pkg/proxy/ipvs"
	utilipset "k8s.io/kubernetes/pkg/proxy/ipvs/ipset"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"
	netutils "k8s.io/utils/net"
)

// folder is the variable that says where the virtual servers of each node are written to.
const folder = "NLAB_RECORD"

// The defaults of kube-proxy (pkg/proxy/apis/config/v1alpha1/defaults.go), and its device.
const (
	resync        = 15 * time.Minute
	syncPeriod    = 30 * time.Second
	minSyncPeriod = time.Second
	masqueradeBit = 14
	healthz       = "0.0.0.0:10256"
	metrics       = "127.0.0.1:10249"
	device        = "kube-ipvs0"
)

func main() {
	if err := run(context.Background()); err != nil {
		klog.ErrorS(err, "kube-proxy ended")
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	flags := pflag.NewFlagSet("kube-proxy", pflag.ContinueOnError)
	var (
		kubeconfig    = flags.String("kubeconfig", "", "")
		node          = flags.String("hostname-override", "", "")
		mode          = flags.String("proxy-mode", "", "")
		detect        = flags.String("detect-local-mode", "", "")
		podCIDRs      = flags.StringSlice("cluster-cidr", nil, "")
		masqueradeAll = flags.Bool("masquerade-all", false, "")
		nodePorts     = flags.StringSlice("nodeport-addresses", nil, "")
		scheduler     = flags.String("ipvs-scheduler", "rr", "")
		strictARP     = flags.Bool("ipvs-strict-arp", false, "")
		_             = flags.Int("conntrack-max-per-core", 0, "")
		_             = flags.Int("conntrack-min", 0, "")
		_             = flags.Int("oom-score-adj", 0, "")
	)
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if *mode != string(config.ProxyModeIPVS) {
		return errors.New("only virtual servers are recorded: --proxy-mode=ipvs")
	}
	rest, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return err
	}
	manager, err := proxy.NewNodeManager(ctx, client, resync, *node, false)
	if err != nil {
		return err
	}
	// There is no device of type dummy either; kube-proxy takes one of its name as it is.
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: device}}); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	servers := newServers(filepath.Join(os.Getenv(folder), *node+".json"))
	server := &app.ProxyServer{
		Config:        &config.KubeProxyConfiguration{Mode: config.ProxyModeIPVS, ConfigSyncPeriod: duration(resync), MetricsBindAddress: metrics},
		Client:        client,
		Recorder:      events.NewFakeRecorder(0),
		HealthzServer: healthcheck.NewProxyHealthServer(healthz, 2*syncPeriod, manager),
		NodeName:      *node,
		NodeManager:   manager,
	}
	server.PrimaryIPFamily, server.NodeIPs = addresses(manager.NodeIPs())
	detectors := map[v1.IPFamily]proxyutil.LocalTrafficDetector{v1.IPv4Protocol: proxyutil.NewNoOpLocalDetector(), v1.IPv6Protocol: proxyutil.NewNoOpLocalDetector()}
	if *detect == string(config.LocalModeClusterCIDR) {
		for family, list := range proxyutil.MapCIDRsByIPFamily(*podCIDRs) {
			detectors[family] = proxyutil.NewDetectLocalByCIDR(list[0].String())
		}
	}
	server.Proxier, err = ipvs.NewDualStackProxier(ctx, newTables(), servers, utilipset.New(), settings(), syncPeriod, minSyncPeriod, nil, *strictARP,
		0, 0, 0, *masqueradeAll, masqueradeBit, detectors, *node, server.NodeIPs, server.Recorder, server.HealthzServer, *scheduler, *nodePorts, false)
	if err != nil {
		return err
	}
	go servers.write(ctx)
	return server.Run(ctx)
}

// addresses are those of the node by family, the first of which is its primary one: detectNodeIPs
// in cmd/kube-proxy/app/server.go.
func addresses(list []net.IP) (primary v1.IPFamily, ips map[v1.IPFamily]net.IP) {
	primary = v1.IPv4Protocol
	ips = map[v1.IPFamily]net.IP{v1.IPv4Protocol: net.IPv4(127, 0, 0, 1), v1.IPv6Protocol: net.IPv6loopback}
	for i, ip := range list {
		family := v1.IPv4Protocol
		if netutils.IsIPv6(ip) {
			family = v1.IPv6Protocol
		}
		if ips[family] = ip; i == 0 {
			primary = family
		}
	}
	return primary, ips
}

// settings are the sysctls that kube-proxy wants, as they are once it has set them: those of IPVS
// do not exist here, and the others are netlab's.
func settings() *testing.Fake {
	s := testing.NewFake()
	for _, name := range strings.Fields("vs/conntrack vs/conn_reuse_mode vs/expire_nodest_conn vs/expire_quiescent_template ip_forward conf/all/arp_ignore conf/all/arp_announce") {
		s.Settings["net/ipv4/"+name] = 0
	}
	return s
}
