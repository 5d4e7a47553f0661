package liquid_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/liquid"
)

// FuzzRender holds that no template ends the program and none writes more than
// it may. The page's examples are the seeds.
func FuzzRender(f *testing.F) {
	text, err := os.ReadFile(page)
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if found := exampleLine.FindStringSubmatch(line); found != nil && !strings.Contains(line, "genCA") {
			f.Add(found[1])
		}
	}
	f.Fuzz(func(t *testing.T, template string) {
		// A loop has no limit of its own: the child's time is the limit.
		if strings.Contains(template, "for") || strings.Contains(template, "tablerow") {
			return
		}
		out, err := pageEngine().Render([]byte(template))
		if len(out) > 32<<20 || (err != nil && out != nil) {
			t.Errorf("%d bytes, %v", len(out), err)
		}
	})
}

// FuzzLimited holds that a template with limits ends, and stays in them, whatever loops
// it has.
func FuzzLimited(f *testing.F) {
	for _, template := range endless {
		f.Add(template)
	}
	f.Fuzz(func(t *testing.T, template string) {
		if len(template) > 4<<10 {
			return
		}
		began := time.Now()
		out, err := pageEngine().Limit(liquid.Limits{Steps: 2000, Bytes: 64 << 10}).Render([]byte(template))
		if len(out) > 64<<10 || (err != nil && out != nil) || time.Since(began) > 20*time.Second {
			t.Errorf("%d bytes after %v, %v", len(out), time.Since(began), err)
		}
	})
}

// FuzzFilter puts any two texts through every filter.
func FuzzFilter(f *testing.F) {
	names := liquid.Filters()
	for i := range names {
		f.Add(uint(i), "a", "b")
		f.Add(uint(i), "1", "-1")
		f.Add(uint(i), "9223372036854775807", "2")
	}
	f.Fuzz(func(t *testing.T, i uint, v, arg string) {
		name := names[i%uint(len(names))]
		if strings.HasPrefix(name, "gen") || name == "derivePassword" || name == "bcrypt" || name == "htpasswd" {
			return // slow by design
		}
		engine := liquid.New(map[string]any{"v": v, "arg": arg, "m": map[string]any{v: arg}, "l": []any{v, arg, nil, 1}}, time.Unix(0, 0))
		for _, template := range []string{"{{ v | X }}", "{{ v | X: arg }}", "{{ v | X: 3 }}", "{{ 3 | X: v }}", "{{ v | X: arg, l }}", "{{ m | X: v }}", "{{ l | X: arg }}", "{{ l | X: 2 }}", "{{ none | X: none }}"} {
			out, err := engine.Render([]byte(strings.Replace(template, "X", name, 1)))
			if len(out) > 2<<20+16*(len(v)+len(arg)) || (err != nil && out != nil) {
				t.Errorf("%s: %d bytes, %v", name, len(out), err)
			}
		}
	})
}
