package render_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/render/rendertest"
)

// plainVariable makes the test binary build the kustomization that it names by
// Kustomize's own interface, and nothing else.
const plainVariable = "AXLE_PLAIN_KUSTOMIZE"

// building runs in the re-executed test binary.
func building() bool {
	dir := os.Getenv(plainVariable)
	if dir == "" {
		return false
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	options.LoadRestrictions = types.LoadRestrictionsNone
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err == nil {
		var text []byte
		if text, err = built.AsYaml(); err == nil {
			_, err = os.Stdout.Write(text)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// plainly builds the files' app with Kustomize only, in a separate process.
func plainly(tb testing.TB, files rendertest.Files) rendertest.Usage {
	tb.Helper()
	dir := onDisk(tb, files)
	command := exec.CommandContext(tb.Context(), os.Args[0])
	command.Env = append(os.Environ(), plainVariable+"="+filepath.Join(dir, "app"))
	out, err := command.Output()
	if err != nil || len(out) < 1<<20 {
		tb.Fatalf("kustomize alone: %v, %d bytes", err, len(out))
	}
	return used(command)
}

// used is what a command that has ended used, with the children that it waited for.
func used(command *exec.Cmd) rendertest.Usage {
	used, _ := command.ProcessState.SysUsage().(*syscall.Rusage)
	return rendertest.Usage{PeakMiB: float64(used.Maxrss) / 1024, CPU: time.Duration(used.Utime.Nano() + used.Stime.Nano())}
}

// onDisk writes files to a folder.
func onDisk(tb testing.TB, files rendertest.Files) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// inChild renders the files' app in a new child.
func inChild(tb testing.TB, files rendertest.Files) rendertest.Usage {
	tb.Helper()
	child := rendertest.Start(tb)
	result := child.Pass(files, &renderv1.Begin{Entry: "app", Templated: true})
	if failed := result.GetFailure(); failed != nil || len(result.GetObjects()) != 6 {
		tb.Fatalf("%d objects, %v", len(result.GetObjects()), failed)
	}
	used := child.Usage()
	child.CloseInput()
	return used
}

// TestLargeKustomization: 12 MB of definitions render each time, with much the
// same memory, of which the limit of 512 MiB leaves a third, and which is at
// most 1.3 times that of Kustomize alone.
func TestLargeKustomization(t *testing.T) {
	files := rendertest.Bundle()
	plain := plainly(t, files)
	var least, most rendertest.Usage
	for n := range 2 { // each takes 8 s of a processor
		used := inChild(t, files)
		t.Logf("child: %.0f MiB, %.0f MiB of data, %v; kustomize alone: %.0f MiB, %v", used.PeakMiB, used.DataMiB, used.CPU, plain.PeakMiB, plain.CPU)
		if n == 0 || used.PeakMiB < least.PeakMiB {
			least = used
		}
		if used.PeakMiB > most.PeakMiB {
			most = used
		}
		if used.DataMiB > 420 {
			t.Errorf("%.0f MiB of data", used.DataMiB)
		}
	}
	if most.PeakMiB > 1.3*plain.PeakMiB {
		t.Errorf("%.0f MiB, more than 1.3 times the %.0f of kustomize alone", most.PeakMiB, plain.PeakMiB)
	}
	if most.PeakMiB > 1.25*least.PeakMiB {
		t.Errorf("once %.0f MiB, once %.0f", least.PeakMiB, most.PeakMiB)
	}
}

// TestUsageOfAChildThatHasEnded: a child ends behind its last pass, and whoever asks late
// learns its usage too.
func TestUsageOfAChildThatHasEnded(t *testing.T) {
	child := rendertest.Start(t)
	child.CloseInput()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if used := child.Usage(); used.PeakMiB < 1 || used.CPU <= 0 {
		t.Errorf("it used %+v", used)
	}
}

// BenchmarkLargeKustomization reports the same for the records.
func BenchmarkLargeKustomization(b *testing.B) {
	files := rendertest.Bundle()
	var size int
	for _, text := range files {
		size += len(text)
	}
	var ours, plain []rendertest.Usage
	for b.Loop() {
		ours, plain = append(ours, inChild(b, files)), append(plain, plainly(b, files))
	}
	least, most, cpu := spread(ours)
	alone, _, aloneCPU := spread(plain)
	b.ReportMetric(float64(size)/1e6, "MB/input")
	b.ReportMetric(most, "MiB/child")
	b.ReportMetric(alone, "MiB/alone")
	b.ReportMetric(most/alone, "x/memory")
	b.ReportMetric(most/least, "x/spread")
	b.ReportMetric(cpu, "s/child")
	b.ReportMetric(aloneCPU, "s/alone")
}

// spread is the least and the most memory, and the average processor time.
func spread(all []rendertest.Usage) (least, most, cpu float64) {
	least = all[0].PeakMiB
	for _, u := range all {
		least, most = min(least, u.PeakMiB), max(most, u.PeakMiB)
		cpu += u.CPU.Seconds() / float64(len(all))
	}
	return least, most, cpu
}
