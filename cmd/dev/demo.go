package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/world"
)

// demo is one run of the demo.
type demo struct {
	exit   bool
	repo   string
	ref    string
	folder string
	// templates plays the story of clusters from a template instead.
	templates bool

	progress
	world    *world.World
	clusters []string // connected so far
	services []service
	repoURL  string
	webhook  webhook
	asked    []asked // the requests to edge-1 both ways
	talker   string  // the program of the one real pod
}

// service is one service of the demo, and how to read its greeting from an API
// server.
type service struct {
	name, folder string
	flags        []string
	// look is the kubectl get arguments with a jsonpath that prints the greeting.
	look []string
}

// The position of each example's greeting in the repository. The pods of the last
// example run as processes of this machine; those of the others are simulated.
var exampleServices = []service{
	{name: "web", folder: "apps/raw-web", look: []string{"configmap/raw-web", "-o", "jsonpath={.data.greeting}"}},
	{name: "shop", folder: "apps/overlays/staging", look: []string{"deployment/staging-shop", "-o", "jsonpath={.metadata.annotations.greeting}"}},
	{name: "greeter", folder: "apps/chart", look: []string{"configmap/greeter", "-o", "jsonpath={.data.greeting}"}},
	{name: talker, folder: "apps/talker", look: []string{"deployment/talker", "-o", "jsonpath={.metadata.annotations.greeting}"}},
}

func demoCommand() *cobra.Command {
	var d demo
	c := &cobra.Command{
		Use:   "demo",
		Short: "Start everything on this machine and run a guided demo",
		RunE: func(c *cobra.Command, _ []string) error {
			d.started = time.Now()
			return d.run(c.Context())
		},
	}
	c.Flags().BoolVar(&d.exit, "exit", false, "exit after the demo; the exit status says whether it succeeded")
	c.Flags().BoolVar(&d.templates, "clusters", false, "make two clusters from a template with Cluster API, scale and destroy them")
	c.Flags().StringVar(&d.repo, "repo", "", "your own repository: a folder or a URL")
	c.Flags().StringVar(&d.ref, "ref", "main", "its branch or tag")
	c.Flags().StringVar(&d.folder, "folder", ".", "folder in it to deliver")
	c.MarkFlagsMutuallyExclusive("clusters", "repo")
	return c
}

func (d *demo) chapter(title string) { fmt.Printf("\n== %s\n", title) }

func (d *demo) run(ctx context.Context) (err error) {
	made := &templates{demo: d}
	clusters, story, epilogue := []string{"edge-1", "edge-2", "edge-3", management}, d.story, newcomer{d}.epilogue
	if d.templates {
		clusters, story, epilogue = []string{management}, made.story, made.epilogue
		d.chapter("A Kubernetes API server and a Git server start")
	} else {
		d.chapter("Four Kubernetes API servers and a Git server start")
	}
	d.world, err = world.Start(ctx, world.Config{Clusters: clusters, Pods: true, Installed: true, Pages: bin.Shipped, Progress: d.say})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.close(), d.world.Close()) }()
	if err := d.buildTalker(ctx); err != nil {
		return err
	}
	if err := story(ctx); err != nil {
		return fmt.Errorf("the demo failed: %w", err)
	}
	if d.exit {
		return nil
	}
	epilogue()
	<-ctx.Done()
	fmt.Println("\nending everything")
	return nil
}

func (d *demo) story(ctx context.Context) error {
	if err := d.install(ctx); err != nil {
		return err
	}
	if err := d.connect(ctx); err != nil {
		return err
	}
	if d.repo != "" {
		if err := d.ownRepository(ctx); err != nil {
			return err
		}
		return newcomer{d}.prepare(ctx)
	}
	if err := d.deliver(ctx); err != nil {
		return err
	}
	if err := d.access(ctx); err != nil {
		return err
	}
	seconds, commit, err := d.change(ctx)
	if err != nil {
		return err
	}
	if err := d.fleet(ctx); err != nil {
		return err
	}
	if err := d.outage(ctx); err != nil {
		return err
	}
	if err := (newcomer{d}).prepare(ctx); err != nil {
		return err
	}
	return d.verdict(ctx, commit, seconds)
}

// axle runs the command line and prints it as a person would type it.
func (d *demo) axle(ctx context.Context, args ...string) (string, error) {
	d.say("$ axle %s", strings.Join(shown(args), " "))
	result, err := d.world.Axle(ctx, args...)
	return result.Out, err
}

// shown shortens arguments that a reader need not see.
func shown(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if strings.HasPrefix(a, os.TempDir()+"/") && i > 0 {
			a = "…/" + a[strings.LastIndex(a, "/")+1:]
		}
		out[i] = a
	}
	return out
}

func (d *demo) connect(ctx context.Context) error {
	d.chapter("Connect two clusters; each agent starts as a pod and dials out")
	group, groupCtx := errgroup.WithContext(ctx)
	for _, cluster := range []string{"edge-1", "edge-2"} {
		group.Go(func() error { return d.connectCluster(groupCtx, cluster) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	d.clusters = []string{"edge-1", "edge-2"}
	return nil
}

func (d *demo) connectCluster(ctx context.Context, cluster string) error {
	_, err := d.axle(ctx, "clusters", "connect", cluster, "--kubeconfig", d.world.Cluster(cluster).Kubeconfig(), "--poll-interval", "30s", "--tag", "tier=edge")
	if err == nil {
		d.say("%s is connected", cluster)
	}
	return err
}

// deliver creates the repository and deploys the services to two clusters.
func (d *demo) deliver(ctx context.Context) error {
	d.chapter("Add a repository and deliver four services of it to both clusters")
	git := d.world.Git
	if err := git.Create(ctx, "fleet"); err != nil {
		return err
	}
	if _, err := git.CommitFolder(ctx, "fleet", "main", "begin with the examples", "examples"); err != nil {
		return err
	}
	files := greeting("hello")
	declared, err := d.located("examples/fleet/declared/repositories.yaml")
	if err != nil {
		return err
	}
	files["fleet/declared/repositories.yaml"] = declared
	if _, err := git.Commit(ctx, "fleet", "main", "say hello", files); err != nil {
		return err
	}
	d.repoURL = git.URL("fleet")
	if _, err := d.axle(ctx, "repos", "add", "fleet", d.repoURL); err != nil {
		return err
	}
	if err := d.addWebhook(ctx); err != nil {
		return err
	}
	d.services = exampleServices
	for _, cluster := range d.clusters {
		if err := d.createServices(ctx, cluster); err != nil {
			return err
		}
	}
	if _, err := d.axle(ctx, "services", "wait", "--all", "--timeout", "2m"); err != nil {
		return err
	}
	return d.seen(ctx, "hello", d.clusters, 30*time.Second)
}

func (d *demo) createServices(ctx context.Context, cluster string) error {
	for _, s := range d.services {
		args := append([]string{"services", "create", cluster + "/" + s.name, "--repo", "fleet", "--ref", d.branch(), "--folder", s.folder}, s.flags...)
		if _, err := d.axle(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) branch() string {
	if d.repo == "" {
		return "main"
	}
	return d.ref
}

// greeting is a commit that changes the greeting of each example: a ConfigMap, an
// annotation in the Kustomize base outside the service's folder, a Helm value.
func greeting(text string) map[string]string {
	base, _ := os.ReadFile("examples/apps/base/deployment.yaml")
	values, _ := os.ReadFile("examples/apps/chart/values.yaml")
	config, _ := os.ReadFile("examples/apps/raw-web/config.yaml")
	return map[string]string{
		"apps/raw-web/config.yaml":  strings.Replace(string(config), "greeting: hello", "greeting: "+text, 1),
		"apps/base/deployment.yaml": strings.Replace(string(base), "  name: shop\n", "  name: shop\n  annotations:\n    greeting: "+text+"\n", 1),
		"apps/chart/values.yaml":    strings.Replace(string(values), "greeting: hello", "greeting: "+text, 1),
		"apps/talker/talker.yaml":   fmt.Sprintf(talkerYAML, text),
	}
}

// seen waits until the API servers show a greeting, on every cluster and for every
// service.
func (d *demo) seen(ctx context.Context, text string, clusters []string, limit time.Duration) error {
	return eventually.Wait(ctx, limit, func() error {
		for _, cluster := range clusters {
			for _, s := range d.services {
				if s.look == nil {
					continue // the greeting of the user's own service is unknown
				}
				result, err := d.world.Kubectl(ctx, cluster, append([]string{"--namespace", s.name, "get"}, s.look...)...)
				if err != nil {
					return err
				}
				if result.Out != text {
					return fmt.Errorf("%s/%s says %q, not %q", cluster, s.name, result.Out, text)
				}
			}
		}
		return nil
	})
}

// outage disconnects the upstream and adds a new cluster.
func (d *demo) outage(ctx context.Context) error {
	d.chapter("The Git server goes away; a third cluster joins and still gets everything")
	if err := d.world.Git.Down(); err != nil {
		return err
	}
	d.say("the Git server refuses every connection from now on")
	if err := d.connectCluster(ctx, "edge-3"); err != nil {
		return err
	}
	if err := d.createServices(ctx, "edge-3"); err != nil {
		return err
	}
	d.clusters = append(d.clusters, "edge-3")
	if _, err := d.axle(ctx, "services", "wait", "--cluster", "edge-3", "--all", "--timeout", "2m"); err != nil {
		return err
	}
	if err := d.seen(ctx, "world", []string{"edge-3"}, 30*time.Second); err != nil {
		return err
	}
	if err := d.tell(ctx); err != nil { // otherwise it notices at its next poll
		return err
	}
	if err := eventually.Wait(ctx, 30*time.Second, func() error {
		result, err := d.world.Axle(ctx, "repos", "list", "-o", "json")
		if err == nil && !strings.Contains(result.Out, `"Failed"`) {
			err = errors.New("the hub does not report yet that the upstream is unavailable")
		}
		return err
	}); err != nil {
		return err
	}
	out, err := d.axle(ctx, "repos", "list")
	fmt.Print(indent(out))
	return err
}

func indent(text string) string {
	return "           " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n           ") + "\n"
}
