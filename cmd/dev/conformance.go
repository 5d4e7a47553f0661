package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/conformance"
	"github.com/axle-cd/axle/test/world"
)

// conformanceCluster is the cluster of the tests.
const conformanceCluster = "conformance"

// conform is one run of the conformance command.
type conform struct {
	direct   bool
	discover bool
	only     string
	workers  int
	limit    time.Duration
	dir      string
	record   string

	progress
	suite   conformance.Suite
	lists   conformance.Lists
	tests   []string
	world   *world.World
	pattern *regexp.Regexp
}

func conformanceCommand() *cobra.Command {
	var c conform
	command := &cobra.Command{
		Use:   "conformance",
		Short: "Run Kubernetes' conformance tests directly and through the hub",
		Long: `Run the [Conformance] tests of Kubernetes' end-to-end suite that are listed in
test/conformance/passes.txt, once with the cluster's own kubeconfig and once with one
that goes through the hub, on one cluster of the test bed. The same tests must pass
both ways. Then the real helm installs, upgrades and removes a release both ways; the
output must be equal. Prints each result and, as its last line, one JSON object. The
logs of the suite are in --dir.`,
		Example: `  dev conformance
  dev conformance --only 'sig-api-machinery.*Watch'
  dev conformance --only '^helm$'           # the release alone
  dev conformance --discover --direct      # what of the skipped tests would pass?`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.started = time.Now()
			return c.run(cmd.Context())
		},
	}
	f := command.Flags()
	f.BoolVar(&c.direct, "direct", false, "skip the run through the hub")
	f.BoolVar(&c.discover, "discover", false, "run the skipped tests, with both kinds of nodes, and report which of them pass")
	f.StringVar(&c.only, "only", "", "only tests whose names match this expression")
	f.IntVar(&c.workers, "workers", 4, "number of tests at a time")
	f.DurationVar(&c.limit, "limit", 5*time.Minute, "time limit of one test; tests of CronJobs wait for up to three minutes")
	f.StringVar(&c.dir, "dir", filepath.Join("bin", "conformance"), "folder for the logs")
	f.StringVar(&c.record, "record", "", "write the result to this file")
	return command
}

func (c *conform) run(ctx context.Context) (err error) {
	if c.pattern, err = regexp.Compile(c.only); err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	if c.dir, err = filepath.Abs(c.dir); err != nil {
		return err
	}
	if c.suite, err = conformance.Find("."); err != nil {
		return err
	}
	if c.lists, err = conformance.ReadLists("."); err != nil {
		return err
	}
	if c.tests, err = c.suite.Tests(ctx); err != nil {
		return err
	}
	if err := c.lists.Check(c.tests); err != nil {
		return err
	}
	c.world, err = world.Start(ctx, world.Config{Clusters: []string{conformanceCluster}, Pods: true, TLS: true, Progress: c.say})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.world.Close()) }()
	cluster := c.world.Cluster(conformanceCluster)
	if err := c.suite.Prepare(cluster, filepath.Join(c.dir, "images")); err != nil {
		return err
	}
	c.say("the cluster is at %s, the logs are in %s", cluster.URL(), c.dir)
	if c.discover {
		return c.tryAll(ctx, cluster.Kubeconfig())
	}
	return c.compare(ctx, cluster.Kubeconfig())
}

// tryAll runs the skipped tests with both kinds of nodes.
func (c *conform) tryAll(ctx context.Context, kubeconfig string) error {
	for _, heading := range []string{conformance.HeadingKwok, conformance.HeadingProcesses} {
		passed, err := c.section(ctx, "direct", kubeconfig, conformance.Section{Heading: heading, Tests: conformance.Names(c.lists.Skips)})
		if err != nil {
			return err
		}
		fmt.Printf("\n# %s\n%s\n", heading, strings.Join(passed, "\n"))
	}
	return nil
}

// outcome is the last line of the output, and the record.
type outcome struct {
	Kubernetes string `json:"kubernetes"`
	Tests      int    `json:"tests"`
	Listed     int    `json:"listed"`
	Skipped    int    `json:"skipped"`
	Direct     int    `json:"direct"`
	Proxied    int    `json:"proxied"`
	Equal      bool   `json:"equal"`
	// Helm: the life of a release was equal both ways; nil if it was not run.
	Helm     *bool   `json:"helm,omitempty"`
	DirectS  float64 `json:"direct_s"`
	ProxiedS float64 `json:"proxied_s"`
}

func (c *conform) compare(ctx context.Context, kubeconfig string) error {
	o := outcome{Kubernetes: "v1.36.3", Tests: len(c.tests), Skipped: len(conformance.Names(c.lists.Skips))}
	for _, name := range conformance.Names(c.lists.Passes) {
		if c.pattern.MatchString(name) {
			o.Listed++
		}
	}
	began, cluster := time.Now(), kubeconfig
	direct, err := c.way(ctx, "direct", kubeconfig)
	if err != nil {
		return err
	}
	o.Direct, o.DirectS = len(direct), time.Since(began).Round(time.Second).Seconds()
	proxied := direct
	if !c.direct {
		if kubeconfig, err = c.throughHub(ctx); err != nil {
			return err
		}
		began = time.Now()
		if proxied, err = c.way(ctx, "proxied", kubeconfig); err != nil {
			return err
		}
		o.Proxied, o.ProxiedS = len(proxied), time.Since(began).Round(time.Second).Seconds()
		if c.pattern.MatchString(helmName) {
			same, err := c.helm(ctx, cluster, kubeconfig)
			if err != nil {
				return err
			}
			o.Helm = &same
		}
	}
	o.Equal = slices.Equal(direct, proxied)
	return c.conclude(o, direct, proxied)
}

func (c *conform) conclude(o outcome, direct, proxied []string) error {
	fmt.Printf("\n%d of %d listed tests pass directly, %d through the hub; %d of the suite are skipped with a reason; %.0f s in all\n",
		o.Direct, o.Listed, o.Proxied, o.Skipped, time.Since(c.started).Seconds())
	for _, d := range []struct {
		what        string
		these, than []string
	}{{"passes directly and not through the hub", direct, proxied}, {"passes through the hub and not directly", proxied, direct}} {
		for _, name := range d.these {
			if !slices.Contains(d.than, name) {
				fmt.Printf("%s: %s\n", d.what, name)
			}
		}
	}
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	if c.record != "" {
		if err := os.WriteFile(c.record, append(line, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.Helm != nil && !*o.Helm {
		return fmt.Errorf("the output of helm differs between the hub and the direct run")
	}
	if o.Direct != o.Listed || !o.Equal {
		return fmt.Errorf("%d tests are listed, %d pass directly and %d through the hub, want all both ways", o.Listed, o.Direct, o.Proxied)
	}
	return nil
}

// throughHub connects the cluster and returns a working kubeconfig that goes through
// the hub.
func (c *conform) throughHub(ctx context.Context) (string, error) {
	if err := c.world.Login(ctx); err != nil {
		return "", err
	}
	if err := c.world.ConnectPod(ctx, conformanceCluster); err != nil {
		return "", err
	}
	made, err := c.world.Axle(ctx, "clusters", "kubeconfig", conformanceCluster, "--exec-plugin")
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.world.Dir, "hub.kubeconfig")
	if err := os.WriteFile(path, []byte(made.Out), 0o600); err != nil {
		return "", err
	}
	// The kubeconfig runs the axle command, which gets a token; this process and the
	// suite, its child, find it through this variable.
	os.Setenv("AXLE_CONFIG", c.world.Settings())
	os.Setenv("PATH", filepath.Dir(c.world.Programs["axle"])+string(os.PathListSeparator)+os.Getenv("PATH"))
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	c.say("the same tests through the hub, at %s", config.Host)
	return path, eventually.Wait(ctx, time.Minute, func() error {
		_, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// way runs the listed tests one way and returns those that passed, sorted.
func (c *conform) way(ctx context.Context, name, kubeconfig string) ([]string, error) {
	var all []string
	for _, section := range c.lists.Passes {
		passed, err := c.section(ctx, name, kubeconfig, section)
		if err != nil {
			return nil, err
		}
		all = append(all, passed...)
	}
	slices.Sort(all)
	return all, nil
}

// section runs the tests of a section, and repeats the failed ones one by one,
// because many of them depend on timing.
func (c *conform) section(ctx context.Context, way, kubeconfig string, s conformance.Section) (passed []string, err error) {
	kind := "processes"
	if s.Heading == conformance.HeadingKwok {
		kind = "kwok"
	}
	left := slices.DeleteFunc(slices.Clone(s.Tests), func(name string) bool { return !c.pattern.MatchString(name) })
	for _, try := range []struct {
		name    string
		workers int
	}{{"first", c.workers}, {"second", 1}} {
		if len(left) == 0 || c.discover && try.name == "second" {
			break
		}
		run := &conformance.Run{
			Suite: c.suite, Kubeconfig: kubeconfig, Tests: left, Kwok: kind == "kwok", Workers: min(try.workers, len(left)),
			Limit: c.limit, Dir: filepath.Join(c.dir, way, kind, try.name),
			Progress: func(done, all int, r conformance.Result) {
				state := "ok  "
				if !r.Passed {
					state = "FAIL"
				}
				c.say("%s, %s, %s try: %3d/%d %s %5.1fs %s %s", way, kind, try.name, done, all, state, r.Seconds, r.Name, r.Message)
			},
		}
		results, err := run.Do(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way, err)
		}
		left = nil
		for _, r := range results {
			if r.Passed {
				passed = append(passed, r.Name)
			} else {
				left = append(left, r.Name)
			}
		}
	}
	return passed, nil
}
