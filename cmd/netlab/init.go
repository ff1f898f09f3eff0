package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/scenarios"
	"github.com/netlab/netlab/scenarios/index"
	"github.com/netlab/netlab/topology"
)

func initCommand(u ui) *cobra.Command {
	var asMarkdown bool
	c := &cobra.Command{
		Use:   "init [NAME]",
		Short: "Write a scenario that ships with netlab into this folder, or list them",
		Long: `Write a scenario that ships with netlab into this folder, to edit it. Without a name,
list them, with what each shows. A file that exists is never overwritten.`,
		Example: `  netlab init                list them
  netlab init local-policy   ./local-policy.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case asMarkdown && len(args) > 0:
				return command.Usage(errors.New("--markdown lists all scenarios"), "leave out "+args[0])
			case asMarkdown:
				text, err := index.Markdown()
				if err == nil {
					u.Print("%s", text)
				}
				return err
			case len(args) == 0:
				u.listScenarios()
				return nil
			}
			return u.writeScenario(args[0])
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return shippedNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().BoolVar(&asMarkdown, "markdown", false, "print the list in the format of scenarios/README.md")
	return c
}

func shippedNames() []string {
	var names []string
	for _, lab := range scenarios.All() {
		names = append(names, lab.Name)
	}
	return names
}

func (u ui) listScenarios() {
	all := scenarios.All()
	wide := 0
	for _, lab := range all {
		wide = max(wide, len(lab.Name))
	}
	subject := ""
	for _, lab := range all {
		if s := lab.Subject(); s != subject {
			subject = s
			u.Print("\n%s\n", s)
		}
		u.Print("  %-*s  %s\n", wide, lab.Name, lab.Shows)
	}
	u.Print("\nnetlab init NAME writes one into this folder.\n")
}

func (u ui) writeScenario(name string) error {
	lab, ok := scenarios.Find(name)
	if !ok {
		hint := "netlab init lists them"
		if near := topology.Nearest(name, shippedNames()); near != "" {
			hint = fmt.Sprintf("did you mean %s? %s", near, hint)
		}
		return command.Usage(fmt.Errorf("no scenario %q ships with netlab", name), hint)
	}
	files := lab.Files()
	names := slices.Sorted(maps.Keys(files)) // what the scenario imports after it
	for i, name := range names {
		if err := writeNew(name, files[name]); err != nil {
			for _, written := range names[:i] {
				err = errors.Join(err, os.Remove(written))
			}
			return err
		}
	}
	file := lab.Name + ".hcl"
	u.Print("wrote %s\n  prove its claims with packets: netlab test %s\n", strings.Join(names, " and "), file)
	return nil
}

// writeNew writes a file that does not exist yet.
func writeNew(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return command.Usage(fmt.Errorf("%s already exists", file), "remove it, or use another folder")
	case err != nil:
		return command.Usage(err, "use a folder that you can write to")
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(command.Broken(err, "free some space, and try again"), os.Remove(file))
	}
	return nil
}
