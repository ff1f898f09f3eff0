package machine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/cmd/netlab/proof"
	"github.com/netlab/netlab/datapath/vm"
	"github.com/netlab/netlab/scenarios/language/source"
)

// vmTestCommand is the command test with all its flags, in a machine.
func vmTestCommand(u ui, f *machineFlags) *cobra.Command {
	var o proof.Options
	c := &cobra.Command{
		Use:   "test [FILE…]",
		Short: "Prove every expectation in a machine with a full kernel",
		Long: `Do what netlab test does, with the same flags, in a virtual machine. Mistakes in files are
reported before it boots. Reports are written to the files that the flags name.`,
		Example: `  netlab vm test scenarios/ipvs/ipvs-cluster-ip.hcl
  netlab vm test --junit report.xml scenarios/`,
		RunE: func(c *cobra.Command, args []string) error {
			files, err := o.AxesOf(args)
			if err != nil {
				return err
			}
			if o.Keep || o.Pause {
				return command.Usage(errors.New("the labs of a machine end with it, so none can be kept"), "look around in one: netlab vm up FILE")
			}
			w, err := u.bring(c.Context(), command.OrHere(files), o.Flags, func(quiet *command.UI) error {
				_, _, err := proof.Labs(quiet, command.OrHere(files), o)
				return err
			})
			if err != nil {
				return err
			}
			for _, report := range []string{o.JUnit, o.HTML} {
				if report == "" || report == proof.Stdout {
					continue
				}
				if err := folderFor(report, "a report", ""); err != nil {
					return err
				}
				w.boot.Collect = append(w.boot.Collect, report)
			}
			w.job.Argv = slices.Concat([]string{"netlab", "test"}, flagsInside(c), []string{"--"}, command.OrHere(args))
			return u.inMachine(c.Context(), f, w.job, w.boot)
		},
	}
	o.Register(u.UI, c)
	return c
}

// vmUpCommand is a machine with a lab in it, and a shell.
func vmUpCommand(u ui, f *machineFlags) *cobra.Command {
	var flags command.ScenarioFlags
	c := &cobra.Command{
		Use:   "up [FILE]",
		Short: "Bring a lab up in a machine, and open a shell there",
		Long: `Boot a machine, build the lab in it, and open a shell there, where netlab ps, exec, rules
and all other commands find it. When the shell ends, both end. Standard input may be a
script: netlab vm up FILE <script.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := command.TheScenario(args)
			if err != nil {
				return err
			}
			w, err := u.bring(c.Context(), []string{path}, flags, func(quiet *command.UI) error {
				_, _, err := quiet.Compile(path, flags)
				return err
			})
			if err != nil {
				return err
			}
			up := slices.Concat([]string{"netlab", "up"}, flagsInside(c), []string{"--", path})
			shell, err := u.shellJob()
			if err != nil {
				return err
			}
			if len(w.job.Stdin) > 0 {
				shell.Stdin = w.job.Stdin
			}
			shell.Argv = slices.Concat([]string{"sh", "-c", `"$@" && ` + openShell, "sh"}, up)
			return u.inMachine(c.Context(), f, shell, w.boot)
		},
	}
	flags.Register(c)
	return c
}

func vmShellCommand(u ui, f *machineFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "shell",
		Short: "Open a shell in a fresh machine",
		Long:  `Boot a machine and open a shell in it. Standard input may be a script: netlab vm shell <script.`,
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			job, err := u.shellJob()
			if err != nil {
				return err
			}
			return u.inMachine(c.Context(), f, job, vm.Boot{})
		},
	}
}

// openShell opens the best shell that the machine has.
const openShell = `if command -v bash >/dev/null; then exec bash --norc; else exec sh; fi`

// shellJob is a shell on the user's terminal, or one that reads a script.
func (u ui) shellJob() (vm.Job, error) {
	job := vm.Job{Argv: []string{"sh", "-c", openShell}, Env: []string{`PS1=[vm] \w # `}, TTY: command.IsTerminal(u.In)}
	if job.TTY {
		return job, nil
	}
	script, err := io.ReadAll(u.In)
	if err != nil {
		return job, command.Broken(err, "give a script on standard input")
	}
	job.Stdin = script
	return job, nil
}

// bundle is a job with the files that it needs.
type bundle struct {
	job  vm.Job
	boot vm.Boot
}

// bring checks scenarios here, where a mistake costs no boot, and collects their
// files for the machine.
func (u ui) bring(ctx context.Context, paths []string, flags command.ScenarioFlags, check func(*command.UI) error) (bundle, error) {
	var w bundle
	_, end := u.Under(ctx)
	defer end()
	if slices.Contains(paths, "-") {
		text, err := io.ReadAll(u.In)
		if err != nil {
			return w, command.Usage(err, "give a scenario on standard input")
		}
		w.job.Stdin = text
	}
	// The machine repeats the warnings; here, only mistakes are reported.
	var said bytes.Buffer
	quiet := *u.UI
	quiet.In, quiet.Out, quiet.Errs = bytes.NewReader(w.job.Stdin), io.Discard, &said
	if err := check(&quiet); err != nil {
		_, _ = said.WriteTo(u.Errs)
		return w, err
	}
	found, err := source.Find(paths)
	if err != nil {
		return w, command.Usage(err, "name a scenario file")
	}
	flags = flags.ForMany(found)
	for _, path := range found {
		quiet.In = bytes.NewReader(w.job.Stdin)
		s, _, err := flags.LoadWith(&quiet, path) // mistakes have been reported
		if err != nil {
			return w, err
		}
		for file := range s.Sources {
			if file != source.Stdin {
				w.boot.Files = append(w.boot.Files, s.Path(file))
			}
		}
		w.boot.Files = append(w.boot.Files, s.Reads...)
	}
	slices.Sort(w.boot.Files)
	w.boot.Files = slices.Compact(w.boot.Files)
	return w, nil
}

// flagsInside are the flags that the user gave, except those of the machine.
func flagsInside(c *cobra.Command) []string {
	var list []string
	c.Flags().Visit(func(f *pflag.Flag) {
		if c.Parent().PersistentFlags().Lookup(f.Name) != nil || f.Name == "timeout" {
			return
		}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range many.GetSlice() {
				list = append(list, "--"+f.Name+"="+v)
			}
			return
		}
		list = append(list, "--"+f.Name+"="+f.Value.String())
	})
	return list
}
