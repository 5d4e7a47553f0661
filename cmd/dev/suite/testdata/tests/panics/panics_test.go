package panics

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPanics panics in the first run of a folder, and takes TestAfter with it.
func TestPanics(t *testing.T) {
	file := filepath.Join(os.Getenv("STATE"), "panics")
	if _, err := os.Stat(file); err != nil {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		panic("the first run panics")
	}
}

func TestAfter(t *testing.T) { t.Error("nobody sees this") }
