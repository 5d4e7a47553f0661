package cost_test

import (
	"context"
	"errors"
	"path"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/axle-cd/axle/internal/aliases"
	"github.com/axle-cd/axle/internal/assertion"
	"github.com/axle-cd/axle/internal/clustercheck"
	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/luabox"
	"github.com/axle-cd/axle/internal/podlogs"
	"github.com/axle-cd/axle/internal/promql"
	"github.com/axle-cd/axle/internal/syncwindow"
)

// halfSecond is what CEL and Lua may take, in steps: their limits end them by the clock too.
const halfSecond = 10 * cost.Budget

// pattern matches as the hub matches a router's regular expression.
func pattern(text string) func(string) error {
	return func(expression string) error {
		p, err := cost.New(expression)
		if err == nil {
			_, _, err = p.Match(text, cost.Budget)
		}
		return err
	}
}

// engine evaluates expressions of one language. cheap is evaluated; of dear, each is
// refused, or is the dearest that passes where its name begins so. most is what one may
// take, in steps.
type engine struct {
	evaluate func(expression string) error
	cheap    string
	dear     map[string]string
	most     int
}

// expressions are the engines that evaluate in the hub, in the operator or in an agent's
// process what tenants wrote.
var expressions = map[string]engine{
	"Liquid": {func(text string) error {
		e := liquid.New(map[string]any{"name": "edge-1"}, time.Unix(0, 0)).Limit(liquid.Limits{Steps: cost.Budget, Bytes: 64 << 10, Repeatable: true})
		_, err := e.Render([]byte(text))
		return err
	}, "apps/{{ name | default: 'dev' }}", map[string]string{
		"loops":          "{% for i in (1..9999) %}{% for j in (1..9999) %}{{ i }}{% endfor %}{% endfor %}",
		"a filter":       "{% assign l = 3000 | until %}{% for i in (1..3000) %}{{ l | sort | join: ',' | regexFind: '(a?b?){300}x' }}{% endfor %}",
		"passes: a loop": "{% for i in (1..9000) %}{% endfor %}x",
	}, 2 * cost.Budget},
	"regular expression": {pattern(strings.Repeat("a", 1000)), "^web-[0-9]+$", map[string]string{
		"a large program": strings.Repeat("(a{1000})", 20), "classes of Unicode": "[" + strings.Repeat(`\pL\PL`, 100) + "]", "a program times the text": strings.Repeat("(a?b?c?)", 900) + "y",
		"passes: the dearest": strings.Repeat("(a?b?c?)", 45) + "y",
	}, cost.Budget},
	"PromQL": {func(text string) error { _, err := promql.Parse(text); return err }, `sum by (pod) (rate(up{job=~"web|api"}[5m]))`, map[string]string{
		"a large program": `up{a=~"` + strings.Repeat("x{1000}", 2000) + `"}`, "brackets": strings.Repeat("(", 5000) + "up" + strings.Repeat(")", 5000),
		"passes: the largest": `up{a=~"` + "x{900}" + `"}`,
	}, cost.Budget},
	"filter of a log": {func(text string) error { _, err := podlogs.NewFilter(text, "", 0, 0); return err }, "level=(warn|error)", map[string]string{
		"a large program": strings.Repeat("x{1000}", 20), "a long line": "(a?){900}y", "classes of Unicode": "[" + strings.Repeat(`\pL\PL`, 100) + "]",
		"passes: the dearest": "(a?){60}y",
	}, cost.Budget},
	"CEL of a template's check": {func(text string) error {
		check, err := clustercheck.Compile(text)
		if err == nil {
			_, err = check.Holds(context.Background(), map[string]any{"name": "web-1", "many": make([]any, 300), "text": strings.Repeat("a", 64<<10)}, nil)
		}
		return err
	}, `variables.name.startsWith("web-")`, map[string]string{
		"loops": `variables.many.all(a, variables.many.all(b, variables.many.all(c, a == b && b == c)))`, "an expression": `variables.text.matches("(a?){300}y")`,
		"a large program": `variables.name.matches("` + strings.Repeat("x{1000}", 2000) + `")`,
	}, halfSecond},
	"patterns of a credential": {func(text string) error {
		of := map[string]string{"sub": text}
		if err := assertion.CheckPatterns(of); err != nil {
			return err
		}
		return assertion.Match(of, map[string]any{"sub": "ours" + strings.Repeat("abcd", 8<<10)})
	}, "/ours.*/", map[string]string{
		"a large program": "/" + strings.Repeat("(a{1000})", 20) + "/", "a long claim": "/ours(a?b?c?d?){200}x?.*/",
	}, cost.Budget},
	"Lua": {func(text string) error {
		script, err := luabox.Compile("of a tenant", text)
		if err != nil {
			return err
		}
		box := luabox.New(luabox.Limits{Steps: 500_000, Time: 500 * time.Millisecond, Bytes: 32 << 20, Text: 64 << 10, Pattern: 4_000_000, Calls: 100, Registry: 8192})
		defer box.Close()
		_, err = box.Run(script)
		return err
	}, "return 1 + 1", map[string]string{
		"a loop": "while true do end", "a pattern": `local s = string.rep("a", 60000) for i = 1, 1000 do string.find(s, ".-.-.-.-b") end`, "a text": `local s = "a" while true do s = s .. s end`,
	}, halfSecond},
	"aliases of YAML": {func(text string) error { return aliases.Check([]byte(text)) }, "a: &a {k: v}\nb: *a\n", map[string]string{
		"a long text, often": "a: &a " + strings.Repeat("x", 100<<10) + "\nb:\n" + strings.Repeat("- *a\n", 1000), "itself": "a: &a [*a]\n",
	}, 2 * cost.Budget},
	"cron of a window": {func(text string) error {
		w, err := syncwindow.Parse(syncwindow.Spec{Kind: syncwindow.Allow, Schedule: text, Duration: "1h"})
		if err == nil {
			_ = syncwindow.Judge([]syncwindow.Window{w}, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), false)
		}
		return err
	}, "0 22 * * 1-5", map[string]string{
		"a long line": strings.Repeat("1,", 500) + "2 * * * *", "passes: a day that comes every four years": "0 0 29 2 *", "passes: each minute": "* * * * *",
	}, cost.Budget},
	"range of versions": {func(text string) error {
		if len(text) > 512 || strings.Count(text, "||") > 32 {
			return errors.New("longer than a range may be")
		}
		_, err := semver.NewConstraint(text)
		return err
	}, ">=1.2 <2", map[string]string{
		"many": strings.Repeat("^1 || ", 500) + "2", "passes: the longest": strings.TrimSuffix(strings.Repeat(">=1.2.3-a.b, <2 || ", 26), " || "),
	}, cost.Budget},
	"globs": {func(text string) error {
		for range 100 { // a list has so many
			if _, err := path.Match(text, strings.Repeat("a", 253)); err != nil {
				return err
			}
		}
		return nil
	}, "web-*", map[string]string{"an open class": "[a", "passes: the longest": strings.Repeat("*a", 124) + "?b"}, cost.Budget},
}

// work is what a call takes of this thread, without what other work of the machine takes.
func work(t *testing.T, call func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(1, &u); err != nil { // RUSAGE_THREAD
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano())
	}
	before := now()
	call()
	return now() - before
}

// waited is how long goroutines of this process have waited for locks.
func waited() time.Duration {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}

// Every engine evaluates what is cheap, and refuses what is dear or is done with it within its
// steps, counted in the work of its thread by that of a regular expression of known steps.
// Nobody waits for a lock meanwhile: what a second caller waits for is at most its turn on a
// core, and what has turns of its own is in test/field/expressions.txt.
func TestNobodyWaitsForAnExpression(t *testing.T) {
	const steps = 100_000
	known, err := cost.Compile("(a?b?c?d?){200}x")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a", 4000)
	unit := work(t, func() {
		for done := 0; done < steps; done += known.Steps(len(text)) {
			known.MatchString(text)
		}
	}) / steps
	t.Logf("a step is %v", unit)
	for name, e := range expressions {
		t.Run(name, func(t *testing.T) {
			if err := e.evaluate(e.cheap); err != nil {
				t.Errorf("%s: %v", e.cheap, err)
			}
			for of, dear := range e.dear {
				best := time.Duration(1<<62 - 1)
				for range 3 {
					var err error
					best = min(best, work(t, func() { err = e.evaluate(dear) }))
					if passes := strings.HasPrefix(of, "passes"); (err == nil) != passes {
						t.Fatalf("%s: %v, want that it passes: %v", of, err, passes)
					}
				}
				// Steps are not measured: twice as many are within what a machine varies.
				if took := int(best / max(unit, 1)); took > 2*e.most {
					t.Errorf("%s took the work of %d steps, and may take %d", of, took, e.most)
				}
			}
			e.together(t)
		})
	}
}

// together evaluates what is dear for four tenants and what is cheap for a fifth, all at
// once, and fails when they wait for each other: one lock makes four wait at any time.
func (e engine) together(t *testing.T) {
	t.Helper()
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				for _, dear := range e.dear {
					select {
					case <-stop:
						return
					default:
						_ = e.evaluate(dear) // its error was looked at
					}
				}
			}
		})
	}
	defer all.Wait()
	defer close(stop)
	// Whoever the machine stops while they hold a lock for a moment makes all wait, for the most of a
	// short time and for little of a long one.
	for _, least := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, time.Second} {
		began, before, done := time.Now(), waited(), 0
		for ; done < 20 || time.Since(began) < least; done++ {
			if err := e.evaluate(e.cheap); err != nil {
				t.Error(err)
			}
		}
		took, locked := time.Since(began), waited()-before
		t.Logf("%d evaluations in %v, %v for locks", done, took, locked)
		if locked <= took {
			return
		}
	}
	t.Error("callers wait for locks longer than a second caller evaluates beside four dear ones")
}
