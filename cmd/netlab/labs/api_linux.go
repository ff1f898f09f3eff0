package labs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

func apiCommand(u ui) *cobra.Command {
	var node bool
	var port uint16
	c := &cobra.Command{
		Use: "api [LAB]",
		Long: `Serve the Kubernetes API of a lab on a port of this machine's loopback, read only, until
interrupted, and print the kubeconfig that leads there: its token keeps other users out.

Inside every node the same API is on ` + occupant.APIAddress.String() + `, as on a node of a control plane, without a
token: --inside prints the kubeconfig for agents that run there, and ends.`,
		Example: `  netlab api > lab.yaml &
  kubectl --kubeconfig lab.yaml get pods -w

  netlab api --inside > node.yaml
  netlab exec node1 -- kube-proxy --kubeconfig node.yaml --hostname-override node1`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeLabs,
		RunE: func(c *cobra.Command, args []string) error {
			lab, info, err := Connect(c.Context(), args)
			if err != nil {
				return err
			}
			if node {
				_, err := u.Text().Write([]byte(occupant.KubeconfigInside(info.Name)))
				return err
			}
			return u.api(c.Context(), lab, info.Name, port)
		},
	}
	c.Flags().BoolVar(&node, "inside", false, "print the kubeconfig for agents inside the nodes")
	c.Flags().Uint16Var(&port, "port", 0, "the port of loopback (0: a free one)")
	c.MarkFlagsMutuallyExclusive("inside", "port")
	return c
}

func (u ui) api(ctx context.Context, lab *engine.Client, name string, port uint16) error {
	b, err := openBridge(lab, name, port)
	if err != nil {
		return command.Broken(err, "choose another port: netlab api --port 0")
	}
	defer b.Close()
	if _, err := u.Text().Write(b.kubeconfig()); err != nil {
		return err
	}
	// A watch lasts until the server ends it, or the lab ends.
	for ctx.Err() == nil {
		if err := b.watch(ctx); err != nil && ctx.Err() == nil {
			return command.Broken(fmt.Errorf("%s: %w", name, err), "see which labs run: netlab ps")
		}
	}
	if command.Interrupted(ctx) {
		return command.ErrInterrupted
	}
	return context.Cause(ctx)
}
