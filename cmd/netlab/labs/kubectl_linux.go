package labs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
)

func kubectlCommand(u ui) *cobra.Command {
	var lab string
	c := &cobra.Command{
		Use: "kubectl ARGS…",
		Long: `Run the kubectl of this machine with a lab as its cluster, and exit with its status. A lab
serves nodes, namespaces, pods, services, endpoint slices and policies as the Kubernetes API
does, and tells changes when they happen. It is read only: change the scenario, then netlab up.

Flags before the first argument are netlab's, all others kubectl's.`,
		Example: `  netlab kubectl get all -A -o wide
  netlab kubectl get pods -l app=web -w
  netlab kubectl --lab shop describe service web
  netlab kubectl -- -n prod get endpointslices -o yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return u.kubectl(c.Context(), lab, args) },
	}
	c.Flags().SetInterspersed(false)
	c.Flags().StringVar(&lab, "lab", "", "the lab, if several are running")
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return command.Usage(err, "flags of kubectl come after its verb, or after --: netlab kubectl -- -n prod get pods")
	})
	return c
}

const program = "kubectl"

func (u ui) kubectl(ctx context.Context, lab string, args []string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return &command.Error{Err: errors.New(program + " is not installed"), Code: command.ExitUnsupported,
			Hint: "get it: https://kubernetes.io/docs/tasks/tools/, or on Debian: apt-get install kubernetes-client; for another client: netlab api"}
	}
	client, info, err := Connect(ctx, []string{lab})
	if err != nil {
		return err
	}
	b, err := openBridge(client, info.Name, 0)
	if err != nil {
		return command.Broken(err, "see what this machine can do: netlab doctor")
	}
	defer b.Close()
	dir, err := os.MkdirTemp("", "netlab-kubectl-")
	if err != nil {
		return command.Broken(err, "make room in "+os.TempDir())
	}
	defer os.RemoveAll(dir)
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, b.kubeconfig(), 0o600); err != nil {
		return command.Broken(err, "make room in "+os.TempDir())
	}
	// From here on, signals are for the command.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	ctx, release := untilTimeout(ctx)
	defer release()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// The cache is by port, and the next bridge has another one.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "KUBECACHEDIR=") || strings.HasPrefix(v, "KUBECONFIG=")
	}),
		"KUBECONFIG="+config, "KUBECACHEDIR="+filepath.Join(dir, "cache"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return &command.Error{Err: err, Code: 126, Hint: "install it anew"}
	}
	done := make(chan struct{})
	go func() { // ends with kubectl
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s)
			case <-done:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(done)
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &status) && status.ExitCode() < 0:
		killed, _ := status.Sys().(syscall.WaitStatus)
		return command.Told(128 + int(killed.Signal()))
	case errors.As(err, &status):
		return command.Told(status.ExitCode())
	case err != nil:
		return command.Broken(fmt.Errorf("%s: %w", program, err), "see which labs run: netlab ps")
	}
	return nil
}
