package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/axle-cd/axle/test/capi"
	"github.com/axle-cd/axle/test/capi/provider"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/pages"
	"github.com/axle-cd/axle/test/world"
)

// bed makes a cluster one on which clusters of the test bed's template can be made.
func bed(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	ctx, cancel := limited(startLimit)
	defer cancel()
	cluster := s.Cluster(args[0])
	manager, err := capi.Run(ctx, cluster)
	ts.Check(err)
	ts.Defer(manager.Close)
	s.provider, err = provider.Run(ctx, cluster, kube.ClusterConfig{Controllers: true, Binaries: s.AgentBinaries()})
	ts.Check(err)
	ts.Defer(func() {
		if err := s.provider.Close(); err != nil {
			ts.Logf("end of the provider: %v", err)
		}
	})
	// Shown when the script fails: whether a machine is missing at Cluster API, at the provider, or
	// in the report of the agent.
	ts.Defer(func() {
		ctx, cancel := limited(startLimit)
		defer cancel()
		for _, kind := range []string{"machinesets", "machines", "bedmachines"} {
			found, err := s.KubectlOf(ctx, cluster, "get", kind, "-A", "-o",
				`jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {.status}{"\n"}{end}`)
			ts.Logf("%s at the end: %v\n%s%s", kind, err, found.Out, found.Err)
		}
	})
}

// made is kubectl as the administrator of a cluster that was made. NAMESPACE is where its
// objects are on the management cluster.
func made(ts *testscript.TestScript, neg bool, args []string) {
	s := on(ts)
	run(ts, neg, func(ctx context.Context) (world.Result, error) { return s.made(ctx, args) })
	ts.Setenv("NAMESPACE", s.namespaces[args[0]])
}

func (s *stage) made(ctx context.Context, args []string) (world.Result, error) {
	if s.namespaces[args[0]] == "" {
		namespace, err := s.Axle(ctx, "clusters", "get", args[0], "-o", "jsonpath={.origin.namespace}")
		if err != nil {
			return namespace, err
		}
		s.namespaces[args[0]] = strings.TrimSpace(namespace.Out)
	}
	cluster := s.provider.Cluster(s.namespaces[args[0]], args[0])
	if cluster == nil {
		return world.Result{}, fmt.Errorf("%s has no control plane", args[0])
	}
	return s.KubectlOf(ctx, cluster, args[1:]...)
}

// page runs one block of a page in a folder with a checkout in axle, and one of the
// repository at URL in fleet.
func page(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	blocks, err := pages.Script(filepath.Join("..", "..", "docs", args[0]))
	ts.Check(err)
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 1 || n > len(blocks) {
		ts.Fatalf("%s has %d blocks, and none with the number %s", args[0], len(blocks), args[1])
	}
	dir := ts.MkAbs("page")
	shell := func(text string) {
		command := exec.Command("bash", "-euo", "pipefail", "-c", text)
		command.Dir = dir
		command.Env = append(os.Environ(), "AXLE_CONFIG="+s.Settings(), "NO_COLOR=1", "PATH="+filepath.Dir(s.Programs["axle"])+":"+os.Getenv("PATH"),
			"GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.com", "GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.com", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := command.CombinedOutput(); err != nil {
			ts.Fatalf("%s:%d\n%s\n%s: %v", args[0], blocks[n-1].Line, text, out, err)
		}
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		checkout, err := filepath.Abs("../..")
		ts.Check(errors.Join(err, os.Mkdir(dir, 0o700), os.Symlink(checkout, filepath.Join(dir, "axle"))))
		shell("git clone --quiet '" + ts.Getenv("URL") + "' fleet")
	}
	shell(blocks[n-1].Text)
}
