package listed

import (
	"os"
	"path/filepath"
	"testing"
)

// TestListed fails in the first run of a folder.
func TestListed(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		file := filepath.Join(os.Getenv("STATE"), "listed")
		if _, err := os.Stat(file); err != nil {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Error("the first run fails")
		}
	})
}

func TestBeside(t *testing.T) { t.Log("this passes") }
