package races

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestRaces prints what the race detector does, in the first run of a folder.
func TestRaces(t *testing.T) {
	file := filepath.Join(os.Getenv("STATE"), "races")
	if _, err := os.Stat(file); err != nil {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Println("WARNING: DATA RACE")
		t.Error("testing.go:1: race detected during execution of test")
	}
}
