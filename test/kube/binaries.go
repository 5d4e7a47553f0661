package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/axle-cd/axle/test/program"
)

// ErrNotBuilt is returned when the control plane's binary is not in the cache.
var ErrNotBuilt = errors.New("kubedev is not built: run `make kubedev`")

// binaries returns the folder that holds etcd, kube-apiserver and the others.
// AXLE_KUBEDEV names it outright, for binaries that were built elsewhere.
func binaries() (string, error) {
	if dir := os.Getenv("AXLE_KUBEDEV"); dir != "" {
		return dir, nil
	}
	return Built("test/kube/kubedev", apiServer, ErrNotBuilt)
}

// Built returns the folder in the cache that build.sh filled from a nested module, given
// by its path in the repository. If the binary is not there, the error is missing.
func Built(module, binary string, missing error) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	key, err := buildKey(filepath.Join(root, filepath.FromSlash(module)))
	if err != nil {
		return "", err
	}
	cache, err := program.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, filepath.Base(module), key)
	if _, err := os.Stat(filepath.Join(dir, binary)); err != nil {
		return "", missing
	}
	return dir, nil
}

// buildKey names the binary by the content of its sources. build.sh computes
// the same name.
func buildKey(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	files = append([]string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")}, files...)
	sum := sha256.New()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read the sources of %s: %w", dir, err)
		}
		sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// repositoryRoot walks up from the working folder, which is the package's in a
// test, to the module's go.mod. A path compiled in would be lost to -trimpath.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for start := dir; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/axle-cd/axle\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside a checkout of axle: start from there, or set AXLE_KUBEDEV to the folder with the control plane's binaries", start)
		}
	}
}
