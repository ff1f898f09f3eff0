package labs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/datapath/engine"
)

func psCommand(u ui) *cobra.Command {
	c := &cobra.Command{
		Use:  "ps",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			rows, err := labRows(c.Context())
			if err != nil {
				return err
			}
			if u.AsJSON {
				return u.JSON(rows)
			}
			return u.labTable(rows)
		},
	}
	u.JSONFlag(c, "the list")
	return c
}

// labRow is one lab in the list.
type labRow struct {
	Name     string    `json:"name"`
	File     string    `json:"file"`
	State    string    `json:"state"` // running, changing, stopped or unreachable
	Nodes    int       `json:"nodes"`
	Clients  int       `json:"clients"`
	Routers  int       `json:"routers,omitempty"`
	Pods     int       `json:"pods"`
	Services int       `json:"services"`
	Started  time.Time `json:"started"`
	Memory   int64     `json:"memory_bytes"` // of the engine
	// Ended are the programs of pods that do not run, and why.
	Ended []string `json:"ended,omitempty"`
	// Remedy is what to do about a lab that does not answer.
	Remedy string `json:"remedy,omitempty"`
}

func labRows(ctx context.Context) ([]labRow, error) {
	names, err := Running()
	if err != nil {
		return nil, err
	}
	// Labs that hang must not hide the others, nor add up their timeouts.
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	rows := make([]labRow, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { rows[i] = rowOf(ctx, name) })
	}
	all.Wait()
	return slices.DeleteFunc(rows, func(r labRow) bool { return r.State == "" }), nil
}

// rowOf queries one lab. It is empty for a lab that has just gone.
func rowOf(ctx context.Context, name string) labRow {
	lab, err := engine.Connect(name)
	var info engine.Info
	if err == nil {
		info, err = lab.Info(ctx)
	}
	var stopped *engine.StoppedError
	switch {
	case errors.Is(err, engine.ErrNotRunning):
		return labRow{}
	case errors.As(err, &stopped):
		return labRow{Name: name, State: "stopped", Remedy: stopped.Remedy()}
	case err != nil:
		return labRow{Name: name, State: "unreachable", Remedy: "remove it: netlab down " + name}
	default:
		return labRow{Name: name, File: info.File, State: info.State, Nodes: info.Nodes, Clients: info.Clients, Routers: info.Routers,
			Pods: info.Pods, Services: info.Services, Started: info.Started, Memory: info.RSS, Ended: ended(info.Programs)}
	}
}

func (u ui) labTable(rows []labRow) error {
	if len(rows) == 0 {
		u.Say("no lab is running; start one: netlab up FILE")
		return nil
	}
	w := tabwriter.NewWriter(u.Text(), 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tNODES\tCLIENTS\tPODS\tSERVICES\tAGE\tMEMORY\tFILE")
	for _, r := range rows {
		if r.Remedy != "" {
			fmt.Fprintf(w, "%s\t%s\t\t\t\t\t\t\t%s\n", r.Name, r.State, r.Remedy)
			continue
		}
		if len(r.Ended) > 0 {
			r.State += " (" + strings.Join(r.Ended, ", ") + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%.1f MB\t%s\n", r.Name, r.State, r.Nodes, r.Clients, r.Pods, r.Services,
			age(time.Since(r.Started)), float64(r.Memory)/1e6, relative(r.File))
	}
	return w.Flush()
}

// age is a duration in its largest unit, as kubectl prints it.
func age(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}
