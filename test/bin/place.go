package bin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Root is the folder of the checkout: it walks up from the working folder, which is the package's in a
// test, to the module's go.mod.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/axle-cd/axle\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside a checkout of axle: start from there", start)
		}
	}
}

// cacheDir is the cache that also holds the test bed's control plane.
func cacheDir() (string, error) {
	if dir := os.Getenv("AXLE_CACHE"); dir != "" {
		return filepath.Abs(dir)
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
