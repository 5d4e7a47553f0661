package program

import (
	"fmt"
	"os"
	"path/filepath"
)

// CacheDir is the folder of what is built once for all checkouts, as test/kube/compile.sh finds it.
func CacheDir() (string, error) {
	if dir := os.Getenv("AXLE_CACHE"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "axle"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder, set AXLE_CACHE: %w", err)
	}
	return filepath.Join(home, ".cache", "axle"), nil
}
