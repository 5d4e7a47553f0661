package output

import (
	"testing"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzFill fills templates with any answer of a hub.
func FuzzFill(f *testing.F) {
	for _, text := range []string{`{"name":"a","items":[{"name":1000000},{"name":1.5},null]}`, `{"items":{}}`, `[]`, `null`, ``, `{"name":1e400}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range []string{"jsonpath={.name}", "jsonpath={range .items[*]}{.name}{\"\\n\"}{end}", "jsonpath={..name}", GoTemplate + "{{.name}}{{range .items}}{{.}}{{end}}"} {
			taken.Few(t, 8*len(text), func() { _, _ = fill(format, text) })
		}
	})
}
