package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/topology/kubernetes"
)

func exportCommand(u ui) *cobra.Command {
	var flags command.ScenarioFlags
	var strict bool
	c := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write the cluster of a scenario as Kubernetes manifests",
		Long: `Print the objects of a scenario's cluster, for kubectl apply and netlab import: nodes,
namespaces, pods with agents, services, endpoints and policies, with the addresses and ports
that they have in the lab. What no manifest can say, such as clients and routers, is told with
file and line.`,
		Example: "  netlab export shop.hcl | kubectl diff -f -",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := command.TheScenario(args)
			if err != nil {
				return err
			}
			s, err := u.Load(path, flags)
			if err != nil {
				return err
			}
			objects, lost := kubernetes.Manifests(s.Spec, s.Lab)
			for _, l := range lost {
				u.Say("%s:%d: not exported: %s", s.Path(l.Origin.File), l.Origin.Line, l.Why)
			}
			if strict && len(lost) > 0 {
				return command.Usage(fmt.Errorf("%s has more than manifests can say", path), "leave out --strict")
			}
			_, err = u.Text().Write(objects)
			return err
		},
	}
	flags.Register(c)
	c.Flags().BoolVar(&strict, "strict", false, "refuse a scenario of which not everything can be exported")
	return c
}
