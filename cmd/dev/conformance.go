package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/conformance"
	"github.com/axle-cd/axle/test/kube"
)

// conform is one run of the conformance command.
type conform struct {
	suite    conformance.Suite
	direct   bool
	discover bool
	run      string
	workers  int
	limit    time.Duration
	dir      string
	started  time.Time
}

func conformanceCommand() *cobra.Command {
	var c conform
	command := &cobra.Command{
		Use:   "conformance",
		Short: "Run Kubernetes' end-to-end tests directly and through the hub",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.started = time.Now()
			return c.do(cmd.Context())
		},
	}
	f := command.Flags()
	f.BoolVar(&c.direct, "direct", false, "without the hub: only whether the list passes on the cluster itself")
	f.BoolVar(&c.discover, "discover", false, "run the skipped tests too and say which of them pass")
	f.StringVar(&c.run, "run", "", "only tests whose name contains this")
	f.IntVar(&c.workers, "workers", 4, "tests at a time")
	f.DurationVar(&c.limit, "limit", 2*time.Minute, "bound of one test")
	f.StringVar(&c.dir, "dir", filepath.Join("bin", "conformance"), "folder of the logs")
	return command
}

func (c *conform) say(format string, args ...any) {
	fmt.Printf("[%6.1fs] %s\n", time.Since(c.started).Seconds(), fmt.Sprintf(format, args...))
}

func (c *conform) do(ctx context.Context) (err error) {
	if c.suite, err = conformance.Find("."); err != nil {
		return err
	}
	if c.dir, err = filepath.Abs(c.dir); err != nil {
		return err
	}
	tests, err := c.suite.Tests(ctx)
	if err != nil {
		return err
	}
	tests = slices.DeleteFunc(tests, func(name string) bool { return !strings.Contains(name, c.run) })
	bed, err := kube.Start(ctx, kube.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	cluster, err := bed.StartCluster(ctx, kube.ClusterConfig{Name: "conformance", Controllers: true, Kwok: true, Binaries: map[string]string{}})
	if err != nil {
		return err
	}
	if err := c.suite.Prepare(cluster, filepath.Join(c.dir, "images")); err != nil {
		return err
	}
	c.say("%d tests on %s, logs in %s", len(tests), cluster.URL(), c.dir)
	_, err = c.pass(ctx, "direct", cluster.Kubeconfig(), tests)
	return err
}

// pass runs the tests one way.
func (c *conform) pass(ctx context.Context, way, kubeconfig string, tests []string) ([]conformance.Result, error) {
	run := &conformance.Run{
		Suite: c.suite, Kubeconfig: kubeconfig, Tests: tests, Workers: c.workers, Limit: c.limit,
		Dir: filepath.Join(c.dir, way),
		Progress: func(done, all int, r conformance.Result) {
			state := "ok  "
			if !r.Passed {
				state = "FAIL"
			}
			c.say("%s %3d/%d %s %5.1fs %s %s", way, done, all, state, r.Seconds, r.Name, r.Message)
		},
	}
	results, err := run.Do(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", way, err)
	}
	var text strings.Builder
	for _, r := range results {
		fmt.Fprintf(&text, "%v\t%.1f\t%s\t%s\n", r.Passed, r.Seconds, r.Name, r.Message)
	}
	slices.SortFunc(results, func(a, b conformance.Result) int { return cmp.Compare(a.Name, b.Name) })
	return results, os.WriteFile(filepath.Join(c.dir, way+".tsv"), []byte(text.String()), 0o644)
}
