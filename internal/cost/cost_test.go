package cost_test

import (
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/cost"
)

// TestPatternSize holds that a program which is too large is not made, and that the size
// is no guess that lets a larger one through.
func TestPatternSize(t *testing.T) {
	for text, fits := range map[string]bool{
		`^web-[a-z0-9]+$`:                 true,
		`(\d{1,3}\.){3}\d{1,3}`:           true,
		`(a{1000})`:                       true,
		strings.Repeat(`a{1000}`, 11):     false,
		strings.Repeat(`(a{0,999}b?)`, 9): false,
	} {
		_, err := cost.Compile(text)
		if (err == nil) != fits {
			t.Errorf("%.40s: %v, want that it fits: %v", text, err, fits)
		}
	}
	if _, err := cost.Compile(`a(`); err == nil {
		t.Error("an expression that cannot be read")
	}
	for _, text := range []string{`(x+x+)+y`, `(a?){200}y`, `\A(?:a|bc|def)*\z`, `(\pL+\pN*)+!`, `(a{0,100}){0,9}y`, `[a-z]{3,}`} {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		p, err := cost.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		real, charged := len(program.Inst), p.Steps(1<<20)>>10
		if charged < real || charged > real*5 {
			t.Errorf("%s: %d instructions, charged as %d", text, real, charged)
		}
	}
}

// TestParsingIsBounded holds that a short text is refused before a parser makes tables of it, and
// that the dearest ones that are taken need little time and memory.
func TestParsingIsBounded(t *testing.T) {
	for _, text := range []string{
		"[" + strings.Repeat(`\pL\PL\pN`, 1100) + "]", "(?i)[" + strings.Repeat(`\pL\PL`, 1650) + "]", "(?i)" + strings.Repeat(`\pL`, 3300),
		"(?i)" + strings.Repeat("[B-\U0001e942]", 600), "(?i)" + strings.Repeat(`[B-\x{1e942}]`, 600),
	} {
		if _, err := cost.Compile(text); err == nil || !strings.Contains(err.Error(), "classes of Unicode") {
			t.Errorf("%.40s: %v", text, err)
		}
		if _, err := cost.Measure(text); err == nil {
			t.Errorf("%.40s is measured", text)
		}
	}
	bench := func(text string) testing.BenchmarkResult {
		return testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cost.New(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	// The measure is one class that folds the case of all letters, some 10 ms of a free processor.
	one := bench("(?i)[B-\U0001e942]")
	for _, text := range []string{"(?i)[" + strings.Repeat(`\pL\PL`, 20) + "]", "(?i)" + strings.Repeat("[B-\U0001e942]", 10), "(?i)" + strings.Repeat(`\pL`, 40), strings.Repeat(`web-\d+-`, 100), strings.Repeat("[А-Яа-я]", 100)} {
		took := bench(text)
		times, mib := float64(took.NsPerOp())/float64(one.NsPerOp()), took.AllocedBytesPerOp()>>20
		t.Logf("%.40s: %.1f times one class, %d MiB", text, times, mib)
		if times > 40 || mib > 16 {
			t.Errorf("%.40s takes %.1f times as long as one class, and %d MiB", text, times, mib)
		}
	}
}

// TestMeasureIsTheSize holds that what others compile is charged as what is compiled here.
func TestMeasureIsTheSize(t *testing.T) {
	for _, text := range []string{`web-[a-z0-9]+`, `(a{0,100}){0,9}y`, `\pL{1,200}`} {
		p, err := cost.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if size, err := cost.Measure(text); err != nil || size != p.Size() {
			t.Errorf("%s: %d, %v, want %d", text, size, err, p.Size())
		}
	}
}

func TestPatternIsRefusedBeforeItRuns(t *testing.T) {
	p, err := cost.Compile(`(a?){300}y`)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a", 64<<10)
	if _, _, err := p.Match(text, cost.Budget); err == nil || !strings.Contains(err.Error(), "steps") {
		t.Errorf("a dear match: %v", err)
	}
	if ok, steps, err := p.Match("aay", cost.Budget); !ok || err != nil || steps < 1 || steps > 20 {
		t.Errorf("a cheap match: %v, %d steps, %v", ok, steps, err)
	}
	if again, err := cost.Compile(`(a?){300}y`); err != nil || again != p {
		t.Errorf("it was compiled twice: %v", err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := cost.NewCache[int, string](10)
	for i := range 20 {
		c.Put(i, "x", 2)
	}
	for i := range 20 {
		if _, ok := c.Get(i); ok != (i >= 15) {
			t.Errorf("%d: %v", i, ok)
		}
	}
	c.Get(15)
	c.Put(20, "y", 2)
	if _, ok := c.Get(15); !ok {
		t.Error("what was just used is gone")
	}
	c.Put(21, "heavy", 3)
	if _, ok := c.Get(21); ok {
		t.Error("a heavy value pushed the others out")
	}
	c.Put(20, "z", 2)
	if v, _ := c.Get(20); v != "z" {
		t.Errorf("put again: %q", v)
	}
}
