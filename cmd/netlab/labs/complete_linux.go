package labs

import (
	"github.com/spf13/cobra"

	"github.com/netlab/netlab/datapath/engine"
)

// completeLabs completes the names of running labs.
func completeLabs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := engine.List()
	return names, cobra.ShellCompDirectiveDefault
}

// completeTargets completes the nodes, clients and pods of the lab in question.
func completeTargets(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault // a command and its arguments
	}
	name, _ := c.Flags().GetString("lab")
	_, info, err := Connect(c.Context(), []string{name})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	inv, _ := inventoryIn(info)
	var names []string
	for _, p := range inv.Places {
		names = append(names, p.Display())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
