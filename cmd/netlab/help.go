package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/scenarios/reference"
	"github.com/netlab/netlab/topology"
)

// languageTopic is the topic of help that is not a verb.
const languageTopic = "language"

// helpCommand replaces cobra's, which knows verbs only.
func helpCommand(u ui) *cobra.Command {
	var asMarkdown bool
	c := &cobra.Command{
		Use:   "help [VERB | language [BLOCK[.ATTRIBUTE]]]",
		Short: "Help about a verb, or about the language of scenarios",
		Long: `Help about a verb, or about the language of scenarios: its blocks, their attributes with
type, default and a scenario that uses them, and the functions that expressions can call.`,
		Example: `  netlab help test                        a verb
  netlab help language                    the blocks of a scenario
  netlab help language service            what a block may hold
  netlab help language service.type       an attribute`,
		RunE: func(c *cobra.Command, args []string) error {
			switch isLanguage := len(args) > 0 && args[0] == languageTopic; {
			case asMarkdown && (!isLanguage || len(args) > 1):
				return command.Usage(fmt.Errorf("--markdown prints the whole language"), "netlab help language --markdown")
			case asMarkdown:
				u.Print("%s", reference.Markdown())
				return nil
			case isLanguage:
				return u.helpLanguage(strings.Join(args[1:], "."))
			}
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				topics := []string{languageTopic}
				for _, verb := range c.Root().Commands() {
					topics = append(topics, verb.Name())
				}
				topic := strings.Join(args, " ")
				return command.Usage(fmt.Errorf("there is no help about %s.%s", topic, topology.DidYouMean(topic, topics)), "see: netlab help")
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch {
			case len(args) == 0:
				topics := []string{languageTopic}
				for _, verb := range c.Root().Commands() {
					if verb.IsAvailableCommand() {
						topics = append(topics, verb.Name())
					}
				}
				return topics, cobra.ShellCompDirectiveNoFileComp
			case args[0] == languageTopic && len(args) == 1:
				return append(reference.Paths(), reference.Functions, reference.References), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().BoolVar(&asMarkdown, "markdown", false, "print the whole language in the format of scenarios/LANGUAGE.md")
	return c
}

// helpLanguage describes a block or an attribute by its path; "" is a file.
func (u ui) helpLanguage(path string) error {
	switch path {
	case "":
		u.Print("%s", reference.Overview())
		return nil
	case reference.References:
		u.Print("%s", reference.ReferencesText())
		return nil
	case reference.Functions:
		u.Print("%s", reference.FunctionsText())
		return nil
	}
	found, unknown, near := reference.Find(path)
	if len(found) > 0 {
		u.Print("%s", reference.Text(found))
		return nil
	}
	see := "see: netlab help language"
	if i := strings.LastIndexByte(unknown, '.'); i > 0 {
		see += " " + unknown[:i]
	}
	return command.Usage(fmt.Errorf("the language has no %s.%s", unknown, topology.DidYouMean(unknown, near)), see)
}
