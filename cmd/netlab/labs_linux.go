package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/scenarios/language/source"
)

// labName turns the name of a lab or its scenario file into the name of the lab. The
// file need not exist any more.
func labName(arg string) string {
	running, _ := engine.List()
	if slices.Contains(running, arg) {
		return arg
	}
	base := filepath.Base(strings.TrimRight(arg, "/"))
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		if abs, err := filepath.Abs(arg); err == nil {
			base = filepath.Base(abs)
		}
	}
	for _, suffix := range []string{".json", ".hcl"} {
		base = strings.TrimSuffix(base, suffix)
	}
	return base
}

// theLab is the name of the lab that the arguments mean: the one named, else the
// one whose scenario is in this folder, else the only one that runs; "" if none runs.
func theLab(args []string) (string, error) {
	if len(args) > 0 && args[0] != "" {
		return labName(args[0]), nil
	}
	running, err := engine.List()
	if err != nil {
		return "", broken(err, "make sure that you may read "+engine.StateDir())
	}
	if len(running) <= 1 {
		return strings.Join(running, ""), nil
	}
	if found, err := source.FindIn("."); err == nil {
		here := slices.DeleteFunc(slices.Clone(running), func(name string) bool {
			return !slices.ContainsFunc(found, func(f string) bool { return labName(f) == name })
		})
		if len(here) == 1 {
			return here[0], nil
		}
	}
	return "", usage(fmt.Errorf("several labs are running: %s", strings.Join(running, ", ")), "name one of them")
}

// connect finds a running lab.
func connect(ctx context.Context, args []string) (*engine.Client, engine.Info, error) {
	name, err := theLab(args)
	if err != nil {
		return nil, engine.Info{}, err
	}
	if name == "" {
		return nil, engine.Info{}, usage(errors.New("no lab is running"), "start one: netlab up FILE")
	}
	lab, err := engine.Connect(name)
	if errors.Is(err, engine.ErrNotRunning) {
		return nil, engine.Info{}, usage(fmt.Errorf("no lab named %s is running", name), "see: netlab ps")
	}
	var info engine.Info
	if err == nil {
		info, err = lab.Info(ctx)
	}
	if err != nil {
		return nil, engine.Info{}, broken(err, "remove it: netlab down "+name)
	}
	return lab, info, nil
}
