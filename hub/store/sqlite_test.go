package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/axle-cd/axle/hub/store"
)

func TestOnlyTheHubReadsItsDatabase(t *testing.T) {
	tests := map[string]os.FileMode{"new": 0, "made by others": 0o664}
	for name, mode := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			// The folder of a volume is often open to all.
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			files := []string{"hub.db", "hub.db-wal", "hub.db-shm"}
			if mode != 0 {
				for _, file := range files[:2] {
					if err := os.WriteFile(filepath.Join(dir, file), nil, mode); err != nil {
						t.Fatal(err)
					}
				}
			}
			s, err := store.Open(t.Context(), store.Config{DataDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, file := range files {
				info, err := os.Stat(filepath.Join(dir, file))
				if err != nil {
					t.Fatal(err)
				}
				if got := info.Mode().Perm(); got != 0o600 {
					t.Errorf("%s has mode %o", file, got)
				}
			}
		})
	}
}
