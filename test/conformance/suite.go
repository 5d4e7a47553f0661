package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/program"
)

// ErrNotBuilt is returned when the suite is not in the cache.
var ErrNotBuilt = errors.New("the conformance suite is not built: run `make conformance-suite`")

// Groups are the special interest groups whose tests count.
var Groups = []string{"api-machinery", "auth", "apps", "node", "storage", "network"}

// Suite is the built end-to-end suite.
type Suite struct {
	program string
	agnhost string
}

// Find finds the suite that build.sh made of the sources below root, the root
// of a checkout.
func Find(root string) (Suite, error) {
	sum := sha256.New()
	source := filepath.Join(root, "test", "conformance", "e2e")
	files, err := filepath.Glob(filepath.Join(source, "*.go"))
	if err != nil {
		return Suite{}, err
	}
	slices.Sort(files)
	for _, file := range append([]string{filepath.Join(source, "go.mod"), filepath.Join(source, "go.sum")}, files...) {
		content, err := os.ReadFile(file)
		if err != nil {
			return Suite{}, fmt.Errorf("read the sources of the suite: %w", err)
		}
		sum.Write(content)
	}
	cache, err := program.CacheDir()
	if err != nil {
		return Suite{}, err
	}
	dir := filepath.Join(cache, "conformance", hex.EncodeToString(sum.Sum(nil))[:16])
	if _, err := os.Stat(filepath.Join(dir, "e2e.test")); err != nil {
		return Suite{}, ErrNotBuilt
	}
	return Suite{program: filepath.Join(dir, "e2e.test"), agnhost: filepath.Join(dir, "agnhost")}, nil
}

// images are shell scripts that replace the suite's images, besides agnhost itself. A
// pod's own command runs with the programs of this machine.
var images = map[string]string{
	"busybox":          "exec /bin/sh \"$@\"",
	"nginx":            stay,
	"perl":             "exec /usr/bin/perl \"$@\"",
	"mounttest":        "exec /usr/local/bin/agnhost mounttest \"$@\"",
	"sample-apiserver": stay,
}

// stay runs until it is asked to end.
const stay = "trap 'exit 0' TERM INT\nwhile :; do sleep 3600 & wait $!; done"

// Prepare gives a cluster's process kubelet the programs for the suite's pods.
func (s Suite) Prepare(cluster *kube.Cluster, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cluster.SetBinary("agnhost", s.agnhost)
	for name, script := range images {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			return err
		}
		cluster.SetBinary(name, file)
	}
	return nil
}

// Tests lists the [Conformance] tests of the groups, sorted.
func (s Suite) Tests(ctx context.Context) ([]string, error) {
	dir, err := os.MkdirTemp("", "axle-conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	report := filepath.Join(dir, "report.json")
	cmd := exec.CommandContext(ctx, s.program, "--provider=skeleton", "--kubeconfig=/nonexistent", "--ginkgo.dry-run",
		"--ginkgo.silence-skips", `--ginkgo.focus=\[Conformance\]`, "--ginkgo.json-report="+report)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("ask the suite for its tests: %w: %s", err, out)
	}
	content, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts []string
			LeafNodeText            string
			LeafNodeType            string
			State                   string
		}
	}
	if err := json.Unmarshal(content, &suites); err != nil {
		return nil, fmt.Errorf("read the list of tests: %w", err)
	}
	ours := regexp.MustCompile(`^\[sig-(` + strings.Join(Groups, "|") + `)\]`)
	var names []string
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			name := strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " ")
			if spec.LeafNodeType == "It" && spec.State == "passed" && ours.MatchString(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}
