package proof

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/scenarios"
	"github.com/netlab/netlab/scenarios/articles"
	"github.com/netlab/netlab/topology"
)

// TourCommand is netlab tour: the scenarios of the guided tour, with their texts and their proof.
func TourCommand(shared *command.UI) *cobra.Command {
	u := ui{shared}
	var paper, claims bool
	c := &cobra.Command{
		Use:   "tour [STEP]",
		Short: "Walk through Kubernetes networking, a step at a time",
		Long: `Walk through Kubernetes networking in steps, from pods that reach pods to what articles
get wrong. Each step is a scenario that ships: its text is printed, then its lab is built,
its claims are proved with packets, and the lab is removed. Without a step, list them.`,
		Example: `  netlab tour                           list the steps
  netlab tour 1                         the first one
  netlab init 01-pods-reach-pods        its file, to change it and try again
  netlab tour --articles                what four articles claim, and what proves or refutes it`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case claims && len(args) > 0:
				return command.Usage(errors.New("--articles prints one table, of all articles"), "netlab tour --articles")
			case claims:
				text, err := articles.Markdown()
				if err != nil {
					return err
				}
				u.Print("%s", text)
				return nil
			case len(args) == 0:
				u.listSteps()
				return nil
			}
			return u.takeStep(c.Context(), args[0], paper)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return stepNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().BoolVar(&claims, "articles", false, "print what articles claim, with the verdict of the packets, in the format of scenarios/ARTICLES.md")
	c.Flags().BoolVar(&paper, "paper", false, "build nothing, and judge what the rules do on paper")
	return c
}

func stepNames() []string {
	var names []string
	for _, lab := range scenarios.Tour() {
		names = append(names, lab.Name)
	}
	return names
}

func (u ui) listSteps() {
	for i, lab := range scenarios.Tour() {
		u.Print("%3d  %-28s %s\n", i+1, lab.Title(), lab.Shows)
	}
	u.Print("\nnetlab tour 1 takes the first step.\n")
}

// takeStep prints the text of a step, and proves its claims.
func (u ui) takeStep(ctx context.Context, which string, paper bool) (err error) {
	steps := scenarios.Tour()
	at := slices.IndexFunc(steps, func(lab scenarios.Lab) bool { return lab.Name == strings.TrimSuffix(which, ".hcl") })
	if n, notNumber := strconv.Atoi(which); notNumber == nil {
		if at = n - 1; at < 0 || at >= len(steps) {
			return command.Usage(fmt.Errorf("the tour has no step %d", n), fmt.Sprintf("take one from 1 to %d", len(steps)))
		}
	}
	if at < 0 {
		return command.Usage(fmt.Errorf("the tour has no step %q.%s", which, topology.DidYouMean(which, stepNames())), "netlab tour lists them")
	}
	step := steps[at]
	u.Print("%d. %s\n\n%s\n", at+1, step.Title(), step.Says())
	dir, err := os.MkdirTemp("", "netlab-tour-")
	if err != nil {
		return command.Broken(err, "free some space, and try again")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	files := step.Files()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o644); err != nil {
			return command.Broken(err, "free some space, and try again")
		}
	}
	// Reports then call the file as netlab init would.
	here, err := os.Getwd()
	if err = errors.Join(err, os.Chdir(dir)); err != nil {
		return command.Broken(err, "try again in another folder")
	}
	defer func() { err = errors.Join(err, os.Chdir(here)) }()
	test := TestCommand(u.UI)
	test.SilenceErrors, test.SilenceUsage = true, true
	args := []string{step.Name + ".hcl"}
	if paper {
		args = append(args, "--paper")
	}
	test.SetArgs(args)
	if err := test.ExecuteContext(ctx); err != nil {
		return err
	}
	u.Say("\nthe file, to change and try: netlab init %s", step.Name)
	if at+1 < len(steps) {
		u.Say("the next step: netlab tour %d", at+2)
	}
	return nil
}
