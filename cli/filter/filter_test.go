package filter_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/filter"
)

func TestWords(t *testing.T) {
	w := filter.Words{Flag: "health", Allowed: []string{"Healthy", "Degraded"}}
	if w.Check() != nil || !w.Keeps("Degraded") || !w.Keeps("anything") {
		t.Error("no word leaves items out")
	}
	w.Given = []string{"degraded"}
	if w.Check() != nil || !w.Keeps("Degraded") || w.Keeps("Healthy") || w.Keeps("") {
		t.Error("a word keeps others, or not its own")
	}
	w.Given = []string{"Degraded", "Broken"}
	if err := w.Check(); err == nil || !strings.Contains(err.Error(), `--health "Broken" is not one of Healthy, Degraded`) {
		t.Errorf("an unknown word: %v", err)
	}
}
