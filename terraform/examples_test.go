package terraform_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/axle-cd/axle/hub/hubtest"
)

// examples copies the examples into a workspace.
func (w *workspace) examples() {
	w.t.Helper()
	files, err := filepath.Glob("../examples/terraform/*.tf")
	if err != nil || len(files) < 20 {
		w.t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		w.write(filepath.Base(file), string(text))
	}
}

// TestExamples applies the example of each resource in one configuration, and goes with
// all of them through their lives.
func TestExamples(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	w := newWorkspace(t, h)
	w.examples()
	w.apply()
	w.empty()
	w.secrecy()
}
