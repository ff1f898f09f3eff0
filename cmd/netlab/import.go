package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
)

func importCommand(u ui) *cobra.Command {
	var flags command.ScenarioFlags
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Write the scenario of Kubernetes manifests",
		Long: `Print a scenario with what Kubernetes objects say: YAML or JSON, files, folders, or - for
standard input, such as what kubectl get -o yaml prints. Workloads become pods with agents that
answer on their ports; the ConfigMaps that they mount become files of theirs. What has no
counterpart is told with file and line, and a comment.

Other verbs read manifests as they are: netlab reach manifests/. A scenario beside them has
import "manifests" {} and expectations about the objects.`,
		Example: `  netlab import shop.yaml > shop.hcl
  kubectl get -A -o yaml nodes,namespaces,configmaps,pods,services,networkpolicies | netlab import -`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.Usage(errors.New("no manifest is named"), "name a file, a folder, or - for standard input")
			}
			s, err := u.Import(args, flags)
			if err != nil {
				return err
			}
			_, err = u.Text().Write(s.HCL())
			return err
		},
	}
	flags.RegisterNodes(c)
	c.Flags().BoolVar(&flags.Strict, "strict", false, "refuse manifests of which not everything is carried over")
	return c
}
