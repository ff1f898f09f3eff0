package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/vm"
)

// machineFlags are the flags of every command that boots a machine.
type machineFlags struct {
	memory, cpus   int
	image, modules string
}

func (f *machineFlags) register(c *cobra.Command) {
	flags := c.PersistentFlags()
	flags.IntVar(&f.memory, "memory", 1024, "memory of the machine in `MiB`")
	flags.IntVar(&f.cpus, "cpus", 2, "processors of the machine")
	flags.StringVar(&f.image, "kernel", "", "boot this kernel `IMAGE` instead of Debian's (with --modules)")
	flags.StringVar(&f.modules, "modules", "", "`FOLDER` of that kernel's modules, as /lib/modules/RELEASE")
}

func Command(shared *command.UI) *cobra.Command {
	u := ui{shared}
	f := &machineFlags{}
	c := &cobra.Command{
		Use: "vm",
		Long: `Run netlab, or any command, in a small virtual machine whose kernel has all that labs can
need: ip_vs, dummy, netem, ipip, wireguard, sctp. It boots in seconds, needs QEMU but no
privileges, and leaves nothing behind but a kernel in the cache.`,
		Example: `  netlab vm test scenarios/ipvs/ipvs-cluster-ip.hcl   test what this kernel cannot run
  netlab vm exec -- netlab doctor                what the machine's kernel can do
  netlab vm shell                                look around in it`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f.register(c)
	c.AddCommand(vmTestCommand(u, f), vmUpCommand(u, f), vmExecCommand(u, f), vmShellCommand(u, f), vmGoTestCommand(u, f), vmCleanCommand(u))
	for _, sub := range c.Commands() {
		command.Guard(&command.UI{}, sub, true) // without --timeout, which is the limit of the command inside
	}
	return c
}

func vmExecCommand(u ui, f *machineFlags) *cobra.Command {
	var tty, interactive bool
	var files, collect []string
	c := &cobra.Command{
		Use:   "exec -- CMD…",
		Short: "Run a command in a fresh machine, and exit with its status",
		Long: `Boot a machine, run a command in it as root, and exit with its status. The machine has
netlab, the usual tools of this machine, the command's own file, and the files that --file
names, at the same paths. What --collect names is copied back.`,
		Example: `  netlab vm exec -- netlab doctor
  netlab vm exec --file scenarios -- netlab test scenarios
  netlab vm exec --collect trace.pcap -- ./my-program --write trace.pcap`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range files {
				if _, err := os.Stat(name); err != nil {
					return command.Usage(err, "name files and folders that exist")
				}
			}
			for _, name := range collect {
				if err := folderFor(name, "what is copied back", ", here and in the machine"); err != nil {
					return err
				}
			}
			boot := vm.Boot{Files: files, Collect: collect}
			if program, err := filepath.Abs(args[0]); err == nil && strings.Contains(args[0], "/") {
				if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() {
					boot.Programs = []string{program}
				}
			}
			job := vm.Job{Argv: args, TTY: tty}
			if interactive && !tty {
				input, err := io.ReadAll(u.In)
				if err != nil {
					return command.Broken(err, "leave out -i")
				}
				job.Stdin = input
			}
			return u.inMachine(c.Context(), f, job, boot)
		},
	}
	c.Flags().SetInterspersed(false)
	c.Flags().BoolVarP(&interactive, "interactive", "i", false, "give the command all of standard input (with -t it has the terminal)")
	c.Flags().BoolVarP(&tty, "tty", "t", false, "give the command a terminal")
	c.Flags().StringArrayVar(&files, "file", nil, "copy this `FILE` or folder into the machine (repeatable)")
	c.Flags().StringArrayVar(&collect, "collect", nil, "copy this `FILE` or folder back (repeatable)")
	return c
}

// folderFor makes sure that what is copied back has a folder here.
func folderFor(name, what, where string) error {
	dir := filepath.Dir(name)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return command.Usage(fmt.Errorf("no folder %s for %s", dir, what), "name a file in a folder that exists"+where)
	}
	return nil
}

func vmCleanCommand(u ui) *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove the downloaded kernels",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := vm.Cache()
			if err != nil {
				return command.Broken(err, "set XDG_CACHE_HOME")
			}
			if err := os.RemoveAll(dir); err != nil {
				return command.Broken(err, "remove it yourself: "+dir)
			}
			u.Print("removed %s\n", dir)
			return nil
		},
	}
}

// inMachine runs one job in a machine, in this folder, and ends with its status.
func (u ui) inMachine(ctx context.Context, f *machineFlags, job vm.Job, boot vm.Boot) error {
	kernel, err := u.kernelFor(ctx, f)
	if err != nil {
		return vmFailed(ctx, err)
	}
	here, err := os.Getwd()
	if err != nil {
		return command.Broken(err, "change to a folder that exists")
	}
	job.Dir, job.Env, job.Limit = here, append(vmEnviron(), job.Env...), u.Timeout
	if boot.Files, err = absolutes(boot.Files); err != nil {
		return command.Usage(err, "name files that exist")
	}
	if boot.Collect, err = absolutes(boot.Collect); err != nil {
		return command.Usage(err, "name files")
	}
	booted := sync.OnceFunc(u.Working("booting a virtual machine"))
	defer booted()
	streams := vm.Streams{Out: u.Out, Err: u.Errs, Ready: func(time.Duration) { booted() }}
	if job.TTY {
		end, err := atTerminal(&job, &streams)
		if err != nil {
			return err
		}
		defer end()
	}
	boot.Jobs = []vm.Job{job}
	kvm, err := vm.ChooseKVM(ctx, kernel)
	if err != nil {
		return vmFailed(ctx, err)
	}
	machine := vm.Machine{MemoryMiB: f.memory, CPUs: f.cpus, Kernel: kernel, KVM: kvm}
	result, err := vm.Run(ctx, machine, boot, streams)
	booted()
	return u.vmEnded(ctx, result, err)
}

// leastMemory is what the kernel and its files need, in MiB.
const leastMemory = 256

func (u ui) kernelFor(ctx context.Context, f *machineFlags) (vm.Kernel, error) {
	switch {
	case f.memory < leastMemory:
		return vm.Kernel{}, command.Usage(fmt.Errorf("a machine cannot boot with %d MiB of memory", f.memory), fmt.Sprintf("give it --memory %d or more", leastMemory))
	case f.cpus < 1:
		return vm.Kernel{}, command.Usage(fmt.Errorf("a machine cannot have %d processors", f.cpus), "give it --cpus 1 or more")
	}
	if (f.image == "") != (f.modules == "") {
		return vm.Kernel{}, command.Usage(errors.New("--kernel and --modules belong together"), "give both, or neither for Debian's kernel")
	}
	if f.image != "" {
		k, err := vm.NamedKernel(f.image, f.modules)
		if err != nil {
			return k, command.Usage(err, "name a kernel image and the folder of its modules, in which depmod has made modules.dep")
		}
		return k, nil
	}
	return vm.FindKernel(ctx, func(line string) { u.Say("%s", line) })
}

// vmEnded turns the end of a machine into the end of this command.
func (u ui) vmEnded(ctx context.Context, result vm.Result, err error) error {
	if err != nil && !errors.Is(err, vm.ErrNoAnswer) {
		return vmFailed(ctx, err)
	}
	if !result.Ended {
		code, what := vm.CodePanic, "the virtual machine ended before the command did"
		if err != nil {
			code, what = vm.CodeTimeout, "the virtual machine did not answer in time"
		}
		u.Say("netlab: %s; its console output:\n%s", what, lastLines(result.Console, 40))
		return command.Told(code)
	}
	for _, o := range result.Jobs {
		if o.Killed {
			u.Say("netlab: the command was ended after %v; give it more time with --timeout", u.Timeout)
		}
	}
	if code := result.Code(); code != 0 {
		return command.Told(code)
	}
	return nil
}

// vmFailed sets the exit code of a machine that could not be run.
func vmFailed(ctx context.Context, err error) error {
	var missing *vm.MissingError
	var small *vm.TooSmallError
	var mine *command.Error
	switch {
	case command.Interrupted(ctx):
		return command.ErrInterrupted
	case errors.As(err, &mine):
		return err
	case errors.As(err, &small):
		return command.Usage(err, fmt.Sprintf("give it --memory %d or more, or bring fewer files", small.Least))
	case errors.As(err, &missing):
		return &command.Error{Err: err, Code: command.ExitUnsupported, Hint: missing.Hint}
	default:
		return command.Broken(err, "see: netlab vm --help")
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-n):], "\n  ")
}

// vmEnviron are the environment variables that a command in the machine inherits.
func vmEnviron() []string {
	var list []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(name, "NLAB_"), strings.HasPrefix(name, "GINKGO_"), name == "NO_COLOR", name == "CI", name == "TERM":
			list = append(list, v)
		}
	}
	return list
}

func absolutes(names []string) ([]string, error) {
	var list []string
	for _, n := range names {
		abs, err := filepath.Abs(n)
		if err != nil {
			return nil, err
		}
		list = append(list, abs)
	}
	return list, nil
}

// ui is what the commands of this package print to.
type ui struct{ *command.UI }
