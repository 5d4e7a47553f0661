package render_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	good  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n"
	chart = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
)

// helmPass renders a chart with one template.
func helmPass(t *testing.T, template string) render.Pass {
	t.Helper()
	return render.Pass{Project: "p", Name: "web", Namespace: "shop", Folder: folder(t, map[string]string{
		"Chart.yaml": chart, "templates/a.yaml": template,
	})}
}

// works fails the test when a plain pass does not render.
func works(t *testing.T, runner *render.Runner) {
	t.Helper()
	result, err := runner.Render(patient(t), render.Pass{Project: "p", Name: "a", Folder: folder(t, map[string]string{"a.yaml": good})})
	if err != nil || len(result.Objects) != 1 {
		t.Errorf("the next pass: %d objects, %v; want one", len(result.Objects), err)
	}
}

func TestLimitsEndThePassOnly(t *testing.T) {
	tests := map[string]struct {
		cpu  time.Duration
		pass func(t *testing.T) render.Pass
		want string
	}{
		"helm template that loops": {
			cpu: 2 * time.Second,
			pass: func(t *testing.T) render.Pass {
				return helmPass(t, `{{ range until 1000000 }}{{ range until 1000000 }}{{ end }}{{ end }}`)
			},
			want: "rendering took more than 2s of processor time",
		},
		"liquid template that loops": {
			cpu: 2 * time.Second,
			pass: func(t *testing.T) render.Pass {
				return render.Pass{Project: "p", Name: "a", Folder: folder(t, map[string]string{
					"a.yaml.liquid": `{% for i in (1..1000000000) %}{% for j in (1..1000000000) %}{% endfor %}{% endfor %}`,
				})}
			},
			want: "rendering",
		},
		"helm template that grows": {
			pass: func(t *testing.T) render.Pass {
				return helmPass(t, `{{ $s := "0123456789abcdef" }}{{ range until 40 }}{{ $s = printf "%s%s" $s $s }}{{ end }}`)
			},
			want: "rendering used more than 512 MiB",
		},
		"liquid template that grows": {
			pass: func(t *testing.T) render.Pass {
				return render.Pass{Project: "p", Name: "a", Folder: folder(t, map[string]string{
					"a.yaml.liquid": `{% assign s = "0123456789abcdef" %}{% for i in (1..40) %}{% assign s = s | append: s %}{% endfor %}`,
				})}
			},
			want: "rendering used more than 512 MiB",
		},
		"yaml that multiplies": {
			pass: func(t *testing.T) render.Pass {
				var bomb strings.Builder
				bomb.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
				for i := range 12 {
					fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
				}
				return render.Pass{Project: "p", Name: "a", Folder: folder(t, map[string]string{"a.yaml": bomb.String()})}
			},
			want: "excessive aliasing",
		},
		"file of 50 MB": {
			pass: func(t *testing.T) render.Pass {
				return render.Pass{Project: "p", Name: "a", Folder: folder(t, map[string]string{"a.yaml": good + "#" + strings.Repeat("x", 50<<20)})}
			},
			want: "a.yaml: the file has 524",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runner := newRunner(t, render.Config{CPU: test.cpu})
			_, err := runner.Render(patient(t), test.pass(t))
			if err == nil || !strings.Contains(err.Error(), test.want) || errcode.Of(err) == errcode.Internal {
				t.Errorf("got %q (%s), want %q", err, errcode.Of(err), test.want)
			}
			works(t, newRunner(t, render.Config{}))
			if test.cpu == 0 {
				works(t, runner)
			}
		})
	}
}

// blockingLookup reports that it was asked and then waits.
type blockingLookup struct {
	asked  chan struct{}
	answer chan struct{}
}

// Lookup waits for the test.
func (b blockingLookup) Lookup(ctx context.Context, _ render.LookupKey) ([]byte, error) {
	b.asked <- struct{}{}
	select {
	case <-b.answer:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestPassThatWaitsForEverIsEnded: its processor time never ends it, see
// TestOnlyProcessorTimeIsLimited; its time limit does.
func TestPassThatWaitsForEverIsEnded(t *testing.T) {
	const limit = 500 * time.Millisecond
	waits := newRunner(t, render.Config{Timeout: limit})
	pass := helmPass(t, looksUp)
	pass.Lookup = blockingLookup{make(chan struct{}, 1), make(chan struct{})}
	if _, err := waits.Render(patient(t), pass); errcode.Of(err) != errcode.Exhausted || !strings.Contains(err.Error(), "took longer than 500ms") {
		t.Errorf("got %v", err)
	}
}

const looksUp = `{{ $x := lookup "v1" "Secret" "shop" "s" }}` + good

func TestChildKilledDuringAPass(t *testing.T) {
	runner := newRunner(t, render.Config{})
	pass := helmPass(t, looksUp)
	lookup := blockingLookup{make(chan struct{}, 1), make(chan struct{})}
	pass.Lookup = lookup
	failed := make(chan error, 1)
	go func() {
		_, err := runner.Render(patient(t), pass)
		failed <- err
	}()
	<-lookup.asked
	for _, pid := range children(t) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	close(lookup.answer)
	if err := <-failed; !errcode.Is(err, errcode.Unavailable) || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("got %v, want the kill named", err)
	}
	works(t, runner)
}

func TestCancelledPassEndsItsChild(t *testing.T) {
	runner := newRunner(t, render.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pass := helmPass(t, looksUp)
	lookup := blockingLookup{make(chan struct{}, 1), make(chan struct{})}
	pass.Lookup = lookup
	failed := make(chan error, 1)
	go func() {
		_, err := runner.Render(ctx, pass)
		failed <- err
	}()
	<-lookup.asked
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context canceled", err)
	}
	noChildren(t)
	works(t, runner)
}

func TestChildrenEndWithTheRunner(t *testing.T) {
	runner := newRunner(t, render.Config{})
	works(t, runner)
	if len(children(t)) != 1 {
		t.Errorf("%d children after a pass, want the idle one", len(children(t)))
	}
	runner.Close()
	noChildren(t)
	if _, err := runner.Render(t.Context(), render.Pass{}); !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("a closed runner: %v, want unavailable", err)
	}
}

func TestProjectsShareNoChild(t *testing.T) {
	runner := newRunner(t, render.Config{Pool: 1})
	dir := folder(t, map[string]string{"a.yaml": good})
	var last int
	for i, project := range []string{"one", "one", "two", "one"} {
		if _, err := runner.Render(patient(t), render.Pass{Project: project, Name: "a", Folder: dir}); err != nil {
			t.Fatal(err)
		}
		pids := children(t)
		if len(pids) != 1 {
			t.Fatalf("%d children, want one", len(pids))
		}
		if same := pids[0] == last; same != (i == 1) {
			t.Errorf("pass %d of project %s: same child %v", i, project, same)
		}
		last = pids[0]
	}
}

func TestPoolBoundsChildren(t *testing.T) {
	dir := folder(t, map[string]string{"a.yaml": good})
	for projects, most := range map[int]int{1: 2, 3: 3} {
		runner := newRunner(t, render.Config{Pool: 2})
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				project := strconv.Itoa(i % projects)
				result, err := runner.Render(patient(t), render.Pass{Project: project, Name: "a", Folder: dir})
				if err != nil || len(result.Objects) != 1 {
					t.Errorf("pass %d: %d objects, %v", i, len(result.Objects), err)
				}
				if n := len(children(t)); n > most {
					t.Errorf("%d children of %d projects at once, want at most %d", n, projects, most)
				}
			})
		}
		all.Wait()
		runner.Close()
	}
}

// TestAProjectThatRendersForEverHoldsNobodyUp: however many charts of a guest do not end,
// another project's service renders meanwhile.
func TestAProjectThatRendersForEverHoldsNobodyUp(t *testing.T) {
	registry := prometheus.NewRegistry()
	runner := newRunner(t, render.Config{Pools: pool.NewSet(registry)})
	ctx, cancel := context.WithCancel(t.Context())
	lookup := blockingLookup{make(chan struct{}, 5), make(chan struct{})}
	guest := helmPass(t, looksUp)
	guest.Project, guest.Lookup = "guest", lookup
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range 5 {
		all.Go(func() {
			if _, err := runner.Render(ctx, guest); !errors.Is(err, context.Canceled) {
				t.Errorf("a guest's chart: %v", err)
			}
		})
	}
	<-lookup.asked
	<-lookup.asked
	works(t, runner)
	if n := len(lookup.asked); n != 0 {
		t.Errorf("%d more of the guest's charts render", n)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if used := f.GetMetric()[0]; f.GetName() == "axle_pool_used" && (used.GetLabel()[0].GetValue() != "renders" || used.GetGauge().GetValue() != 2) {
			t.Errorf("the metric is %v", used)
		}
	}
}

// TestRendersGiveWayToTheAgent holds that every thread of a render child has a lower priority
// than the agent, whatever that one's is.
func TestRendersGiveWayToTheAgent(t *testing.T) {
	niceOf := func(stat string) (int, error) {
		text, err := os.ReadFile(stat)
		if err != nil {
			return 0, err
		}
		_, fields, _ := strings.Cut(string(text), ") ")
		return strconv.Atoi(strings.Fields(fields)[16])
	}
	own, err := niceOf("/proc/thread-self/stat")
	if err != nil {
		t.Fatal(err)
	}
	runner := newRunner(t, render.Config{})
	works(t, runner)
	for _, pid := range children(t) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(threads) < 2 {
			t.Fatalf("%d threads, %v", len(threads), err)
		}
		for _, thread := range threads {
			nice, err := niceOf(thread)
			if err != nil {
				continue // it ended
			}
			if nice != min(own+10, 19) {
				t.Errorf("the thread %s is %d nice, the agent %d", thread, nice, own)
			}
		}
	}
	// Of the agent only the threads of its children are lowered, which end with them. The runtime ends
	// no first thread, which runs nothing more.
	runner.Close()
	eventually.For(t, 10*time.Second, "threads of children that ended are gone", func() error {
		tasks, err := filepath.Glob("/proc/self/task/*/stat")
		lowered := 0
		for _, task := range tasks {
			if nice, err := niceOf(task); err == nil && nice != own && task != fmt.Sprintf("/proc/self/task/%d/stat", os.Getpid()) {
				lowered++
			}
		}
		if most := len(children(t)); lowered > most {
			err = fmt.Errorf("%d threads of the agent are lowered for %d children", lowered, most)
		}
		return err
	})
}

func TestNoProgramNoRunner(t *testing.T) {
	_, err := render.New(render.Config{Binary: filepath.Join(t.TempDir(), "axle-render")})
	if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "axle-render") {
		t.Errorf("got %v, want the missing program named", err)
	}
}

func TestProgramThatIsNotOurs(t *testing.T) {
	if err := lastWords(t, "something broke"); !errcode.Is(err, errcode.Internal) || !strings.Contains(err.Error(), "something broke") {
		t.Errorf("got %v, want its exit and its last words", err)
	}
}

// TestNoThreadLeft: the service is not to blame, and the pass is tried again. The
// words are those of the Go runtime.
func TestNoThreadLeft(t *testing.T) {
	err := lastWords(t, "runtime: failed to create new OS thread (have 5 already; errno=11)")
	if !errcode.Is(err, errcode.Unavailable) || !strings.Contains(err.Error(), "podPidsLimit") {
		t.Errorf("got %v, want the limit named", err)
	}
}

// lastWords is the error of a pass whose child ends with these words.
func lastWords(t *testing.T, words string) error {
	t.Helper()
	script := filepath.Join(t.TempDir(), "axle-render")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho '"+words+"' >&2\nexit 4\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	runner := newRunner(t, render.Config{Binary: script})
	_, err := runner.Render(patient(t), render.Pass{Project: "p", Name: "a", Folder: folder(t, map[string]string{"a.yaml": good})})
	return err
}

// children are the live axle-render processes of this test binary.
func children(t *testing.T) []int {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			status, readErr := os.ReadFile("/proc/" + field + "/status")
			if err == nil && readErr == nil && !strings.Contains(string(status), "State:\tZ") {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func noChildren(t *testing.T) {
	t.Helper()
	eventually.For(t, time.Minute, "no child is left", func() error {
		if left := children(t); len(left) > 0 {
			return fmt.Errorf("%d left", len(left))
		}
		return nil
	})
}
