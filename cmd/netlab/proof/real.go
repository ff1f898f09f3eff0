package proof

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/suite"
)

// kubeProxy is the agent that --real knows.
const kubeProxy = "kube-proxy"

// useReal reads --real NAME=PATH.
func (o *Options) useReal() error {
	if o.real == "" {
		return nil
	}
	const write = "write --real kube-proxy=PATH"
	name, path, ok := strings.Cut(o.real, "=")
	if !ok || path == "" {
		return command.Usage(fmt.Errorf("--real %s does not say where the agent is", o.real), write)
	}
	if name != kubeProxy {
		return command.Usage(fmt.Errorf("--real %s: no agent of that name is known, only %s", name, kubeProxy),
			write+"; any other agent runs in a scenario that says so: netlab help language proxy, netlab help language policies")
	}
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return command.Usage(fmt.Errorf("--real: %w", err), "name the program itself; make real builds one, and says where")
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return command.Usage(fmt.Errorf("--real: %s is not a program that can be run", path), "name the program itself, and make it executable: chmod 755 "+path)
	}
	o.Flags.Real = path
	return nil
}

// unreal are the results of labs in which kube-proxy cannot run, and the others.
func unreal(list []*suite.Lab) (labs []*suite.Lab, skipped []reports.Result) {
	for _, lab := range list {
		if s, why := lab.Scenario, datapath.KubeProxyLacks(lab.Scenario.Lab); why != "" {
			skipped = append(skipped, reports.Result{Scenario: s.Name, Variation: s.Variation.String(), File: lab.Path, Line: 1, Name: "through " + kubeProxy, Status: reports.Skipped,
				Reason: why})
			continue
		}
		labs = append(labs, lab)
	}
	return labs, skipped
}
