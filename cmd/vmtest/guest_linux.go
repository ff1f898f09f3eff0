package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath/vm"
)

// limit is how long the tests of one selection may take in the machine, several times as
// long as they do where nothing else runs.
const limit = 20 * time.Minute

// inMachine runs in a machine the tests that were skipped here according to the
// records, and prints the table.
func inMachine(ctx context.Context, records []string, cover string) error {
	host, err := readRecords(records)
	if err != nil {
		return err
	}
	if len(host) == 0 {
		return errors.New("no test ran here: make kernel")
	}
	selections := pick(host)
	work, err := os.MkdirTemp("", "netlab-vmtest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	binaries, err := compile(ctx, work, packagesOf(selections), cover != "")
	if err != nil {
		return err
	}
	guest, err := boot(ctx, work, binaries, selections, cover != "")
	text, wrong := render(judge(host, guest))
	fmt.Printf("\n%s\n", text)
	if err != nil {
		return err
	}
	if cover != "" {
		if err := os.CopyFS(cover, os.DirFS(filepath.Join(work, "files/out/cover"))); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of the rows above failed", wrong)
	}
	return nil
}

// binary is a compiled test, and where it has to run.
type binary struct{ file, dir string }

// compile makes a test binary of each package, static, so that the image stays small.
func compile(ctx context.Context, work string, packages []string, cover bool) (map[string]binary, error) {
	list := map[string]binary{}
	for i, pkg := range packages {
		b := binary{file: filepath.Join(work, fmt.Sprintf("%d-%s.test", i, path.Base(pkg)))}
		dir, err := goTool(ctx, "list", "-f", "{{.Dir}}", pkg)
		if err != nil {
			return nil, err
		}
		b.dir = strings.TrimSpace(dir)
		args := []string{"test", "-c", "-ldflags=-s -w", "-o", b.file}
		if cover {
			args = append(args, "-cover", "-coverpkg=./...")
		}
		if _, err := goTool(ctx, append(args, pkg)...); err != nil {
			return nil, err
		}
		list[pkg] = b
	}
	return list, nil
}

func goTool(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return string(out), nil
}

// boot runs the selections in one machine, and has doctor report what its kernel lacks.
func boot(ctx context.Context, work string, binaries map[string]binary, selections []selection, cover bool) ([]Test, error) {
	say := func(line string) { fmt.Println(line) }
	kernel, err := vm.FindKernel(ctx, say)
	if err != nil {
		return nil, withHint(err)
	}
	kvm, err := vm.ChooseKVM(ctx, kernel)
	if err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	netlab := filepath.Join(root, "netlab")
	if _, err := os.Stat(netlab); err != nil {
		return nil, fmt.Errorf("%w; make build", err)
	}
	b := vm.Boot{Files: []string{root}, Programs: []string{netlab}, Collect: []string{"/out"}, Artifacts: filepath.Join(work, "files")}
	if cover {
		b.Jobs = append(b.Jobs, vm.Job{Name: "folder for coverage", Argv: []string{"mkdir", "-p", "/out/cover"}, Limit: limit})
	}
	b.Jobs = append(b.Jobs, vm.Job{Name: "doctor", Argv: []string{netlab, "doctor", "--json"}, Log: "/out/doctor.json", Limit: limit})
	for i, s := range selections {
		bin := binaries[s.pkg]
		b.Programs = append(b.Programs, bin.file)
		args := []string{bin.file, "-test.v", "-test.run=" + s.run, "-test.timeout=" + (limit - 10*time.Second).String()}
		if cover {
			args = append(args, fmt.Sprintf("-test.coverprofile=/out/cover/%d-%s.out", i, path.Base(s.pkg)))
		}
		b.Jobs = append(b.Jobs, vm.Job{
			Name: fmt.Sprintf("%s, %d tests", short(s.pkg), len(s.names)), Argv: args, Dir: bin.dir,
			Env: []string{"NO_COLOR=1", "GINKGO_NO_COLOR=TRUE", "CI=true"}, Log: fmt.Sprintf("/out/%d.log", i), Limit: limit,
		})
	}
	m := vm.Machine{MemoryMiB: 1536, CPUs: 2, Kernel: kernel, KVM: kvm}
	result, err := vm.Run(ctx, m, b, vm.Streams{
		Ready: func(after time.Duration) { fmt.Printf("the machine was ready after %.1f s\n", after.Seconds()) },
		Progress: func(o vm.Outcome) {
			fmt.Printf("%s: status %d after %.1f s\n", o.Name, o.Code, o.Took.Seconds())
		},
	})
	tests, doctorErr := collect(ctx, filepath.Join(work, "files/out"), selections)
	switch {
	case err != nil:
		return tests, withHint(err)
	case !result.Ended:
		return tests, fmt.Errorf("the machine ended before its tests did; console output:\n%s", result.Console)
	}
	return tests, doctorErr
}

// allRan reports whether each test has a result: a timeout or a panic leaves some without.
func allRan(names []string, found []Test) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(found, func(t Test) bool { return t.Name == name })
	})
}

// withHint adds to an error what can be done about it.
func withHint(err error) error {
	var missing *vm.MissingError
	if errors.As(err, &missing) {
		return fmt.Errorf("%w; %s", err, missing.Hint)
	}
	return err
}

// collect reads the results from the machine, and shows the full output of failures.
func collect(ctx context.Context, dir string, selections []selection) ([]Test, error) {
	var tests []Test
	for i, s := range selections {
		log, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.log", i)))
		if err != nil {
			continue // the table reports that it did not run
		}
		found, err := parseLog(ctx, s.pkg, bytes.NewReader(log))
		if err != nil {
			return tests, err
		}
		tests = append(tests, found...)
		if slices.ContainsFunc(found, func(t Test) bool { return t.Status == failed }) || !allRan(s.names, found) {
			fmt.Printf("=== %s in the machine\n%s\n", short(s.pkg), log)
		}
	}
	var checks []struct {
		Feature string
		OK      bool
	}
	text, err := os.ReadFile(filepath.Join(dir, "doctor.json"))
	if err == nil {
		err = json.Unmarshal(text, &checks)
	}
	for _, c := range checks {
		t := Test{Package: "doctor", Name: c.Feature, Status: passed}
		if !c.OK {
			t.Status = failed
		}
		tests = append(tests, t)
	}
	return tests, err
}
