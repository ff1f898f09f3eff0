package machine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/vm"
)

// vmGoTestCommand runs a compiled test in a machine, for go test -exec.
func vmGoTestCommand(u ui, f *machineFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "go-test [FLAG…] TEST [ARG…]",
		Short: "Run a compiled Go test in a fresh machine",
		Long: `Boot a machine with the files of the Go module around the working directory, and run a
compiled test there, as root and in this directory. Profiles are copied back.`,
		Example: `  go test -exec 'netlab vm go-test' ./datapath/kernel -run TestApply -v
  go test -c ./datapath/kernel && netlab vm go-test ./kernel.test -test.v`,
		Args:               cobra.MinimumNArgs(1),
		DisableFlagParsing: true, // those after the test are the test's
		RunE: func(c *cobra.Command, args []string) error {
			args, err := ownFlags(c, args)
			switch {
			case errors.Is(err, pflag.ErrHelp):
				return c.Help()
			case err == nil && len(args) == 0:
				err = errors.New("no test")
				fallthrough
			case err != nil:
				return command.Usage(err, "name a test built by go test -c, after the flags of the machine")
			}
			test, err := filepath.Abs(args[0])
			if err != nil {
				return command.Usage(err, "name a test built by go test -c")
			}
			root, err := moduleRoot()
			if err != nil {
				return command.Usage(err, "change to a folder of the module under test")
			}
			job := vm.Job{Argv: append([]string{test}, args[1:]...)}
			boot := vm.Boot{Files: []string{root}, Programs: []string{test}, Collect: profiles(args[1:])}
			for _, p := range boot.Collect {
				if info, err := os.Stat(p); err == nil && info.IsDir() {
					boot.Files = append(boot.Files, p) // the test expects it
				}
			}
			return u.inMachine(c.Context(), f, job, boot)
		},
	}
}

// ownFlags reads the flags of the machine, which come first, and returns the rest.
func ownFlags(c *cobra.Command, args []string) ([]string, error) {
	flags := pflag.NewFlagSet(c.Name(), pflag.ContinueOnError)
	flags.SetInterspersed(false)
	flags.SetOutput(io.Discard)
	flags.AddFlagSet(c.InheritedFlags())
	err := flags.Parse(args)
	return flags.Args(), err
}

// moduleRoot is the folder of go.mod above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return dir, nil // no module: this folder
		}
	}
}

var profileFlag = regexp.MustCompile(`^--?test\.(?:coverprofile|cpuprofile|memprofile|blockprofile|mutexprofile|trace|outputdir|gocoverdir)=(.+)$`)

// profiles are the files that flags of a test write.
func profiles(args []string) []string {
	var list []string
	for _, a := range args {
		if m := profileFlag.FindStringSubmatch(a); m != nil && strings.TrimSpace(m[1]) != "" {
			list = append(list, m[1])
		}
	}
	return list
}
