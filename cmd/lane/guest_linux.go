package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath/vm"
)

// limit is how long the tests of one selection may take in the machine.
const limit = 4 * time.Minute

// inMachine runs in a machine what the records say was skipped here, and prints the
// table.
func inMachine(ctx context.Context, records []string, cover string) error {
	host, err := readRecords(records)
	if err != nil {
		return err
	}
	if len(host) == 0 {
		return errors.New("no test ran here: make kernel")
	}
	selections := pick(host)
	work, err := os.MkdirTemp("", "netlab-lane-")
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

// compile makes a test binary of each package, static, so that it is small to bring
// along.
func compile(ctx context.Context, work string, packages []string, cover bool) (map[string]binary, error) {
	list := map[string]binary{}
	for i, pkg := range packages {
		b := binary{file: filepath.Join(work, fmt.Sprintf("%d-%s.test", i, path.Base(pkg)))}
		dir, err := goTool(ctx, "list", "-f", "{{.Dir}}", pkg)
		if err != nil {
			return nil, err
		}
		b.dir = strings.TrimSpace(dir)
		args := []string{"test", "-c", "-o", b.file}
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

// boot runs the selections in one machine, and asks doctor what its kernel lacks.
func boot(ctx context.Context, work string, binaries map[string]binary, selections []selection, cover bool) ([]Test, error) {
	say := func(line string) { fmt.Println(line) }
	kernel, err := vm.FindKernel(ctx, say)
	if err != nil {
		return nil, withWay(err)
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
	m := vm.Machine{MemoryMiB: 1024, CPUs: 2, Kernel: kernel, KVM: kvm}
	result, err := vm.Run(ctx, m, b, vm.Streams{
		Ready: func(r vm.Ready) { fmt.Printf("the machine was ready after %.1f s\n", r.After.Seconds()) },
		Progress: func(o vm.Outcome) {
			fmt.Printf("%s: status %d after %.1f s\n", o.Name, o.Code, o.Took.Seconds())
		},
	})
	tests, doctorErr := collect(filepath.Join(work, "files/out"), selections)
	switch {
	case err != nil:
		return tests, withWay(err)
	case !result.Ended:
		return tests, fmt.Errorf("the machine ended before its tests did; its console said:\n%s", result.Console)
	}
	return tests, doctorErr
}

// withWay adds to an error what one can do about it.
func withWay(err error) error {
	var missing *vm.MissingError
	if errors.As(err, &missing) {
		return fmt.Errorf("%w; %s", err, missing.Way)
	}
	return err
}

// collect reads what came back from the machine, and shows the whole output of what
// failed.
func collect(dir string, selections []selection) ([]Test, error) {
	var tests []Test
	for i, s := range selections {
		log, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.log", i)))
		if err != nil {
			continue // the table says that it did not run
		}
		found := parseLog(s.pkg, string(log))
		tests = append(tests, found...)
		for _, t := range found {
			if t.Status == failed {
				fmt.Printf("=== %s in the machine\n%s\n", short(s.pkg), log)
				break
			}
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
