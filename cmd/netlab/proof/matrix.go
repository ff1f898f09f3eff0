package proof

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/suite"
)

// AxesOf reads the axes of --matrix. More of them may stand among the arguments, where
// they are recognised by the name before =; the rest is returned.
func (o *Options) AxesOf(args []string) ([]string, error) {
	if len(o.matrix) == 0 {
		return args, nil
	}
	texts := slices.Clone(o.matrix)
	var files []string
	for _, a := range args {
		if name, _, ok := strings.Cut(a, "="); ok && slices.Contains(language.AxisNames(), name) {
			texts = append(texts, a)
			continue
		}
		files = append(files, a)
	}
	catalogue := datapath.Catalogue()
	for _, text := range texts {
		for _, word := range strings.Fields(text) {
			axis, err := language.ParseAxis(word, &catalogue)
			if err != nil {
				return nil, command.Usage(fmt.Errorf("--matrix: %w", err), "write, for example, --matrix proxy=iptables,ipvs")
			}
			if slices.ContainsFunc(o.axes, func(a language.Axis) bool { return a.Name == axis.Name }) {
				return nil, command.Usage(fmt.Errorf("--matrix has %s twice", axis.Name), "write its values in one list: "+axis.Name+"=A,B")
			}
			o.axes = append(o.axes, axis)
		}
	}
	if o.Keep || o.Pause {
		return nil, command.Usage(fmt.Errorf("the labs of a matrix share one name, so none can be kept"), "leave out --matrix, or --keep and --pause-on-fail")
	}
	return files, nil
}

// variations are the labs of one scenario: one for each combination of its matrix.
func (u ui) variations(path string, o Options) ([]*suite.Lab, error) {
	axes := o.axes
	if len(axes) == 0 {
		s, p, err := u.Compile(path, o.Flags)
		if err != nil {
			return nil, err
		}
		if axes = s.Matrix; len(axes) == 0 || o.Keep || o.Pause {
			return []*suite.Lab{{Path: path, Args: o.Flags.Arguments(path, s), Scenario: s, Plan: p}}, nil
		}
	}
	var labs []*suite.Lab
	for _, v := range language.Variations(axes) {
		o.Flags.Variation = v
		s, p, err := u.Compile(path, o.Flags)
		if err != nil {
			return nil, err
		}
		labs = append(labs, &suite.Lab{Path: path, Args: o.Flags.Arguments(path, s), Scenario: s, Plan: p})
	}
	return labs, nil
}
