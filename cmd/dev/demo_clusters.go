package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/capi"
	"github.com/axle-cd/axle/test/capi/provider"
	"github.com/axle-cd/axle/test/kube"
)

// template is the one of the test bed, with its folder of that name.
const template = "bed"

// stepLimit bounds a step of a cluster on a busy machine.
const stepLimit = 5 * time.Minute

// templates is the demo of clusters that the hub makes.
type templates struct {
	*demo
	manager  *capi.Manager
	provider *provider.Provider
	clusters []*made
	steps    []step
}

// made is a cluster of the template.
type made struct {
	name string
	// namespace is where its objects are on the management cluster.
	namespace string
	// direct reads its API server with the kubeconfig that the provider wrote.
	direct way
	// took and answers are of its steps.
	took    []time.Duration
	answers []string
}

// step is something that happens to each cluster. It is done when the API servers and the hub
// say the same of it, and that is what is wanted.
type step struct {
	title string
	// begin starts it.
	begin func(ctx context.Context, c *made) error
	// servers and hub answer in one form; an error means not yet. want is the answer that ends
	// the step; empty is any.
	servers, hub func(ctx context.Context, c *made) (string, error)
	want         string
}

// close ends what plays the provider, and every cluster that is left.
func (d *templates) close() (err error) {
	if d.provider != nil {
		err = d.provider.Close()
	}
	if d.manager != nil {
		d.manager.Close()
	}
	return err
}

func (d *templates) story(ctx context.Context) error {
	if err := d.clusterAPI(ctx); err != nil {
		return err
	}
	if err := d.install(ctx); err != nil {
		return err
	}
	if err := d.declare(ctx); err != nil {
		return err
	}
	d.clusters = []*made{{name: "dev-1"}, {name: "dev-2"}}
	d.steps = []step{
		{title: "connected by itself", begin: d.create, servers: d.identityThere, hub: d.identityKnown},
		{title: "delivered to", begin: nothing, servers: d.objectsThere, hub: d.objectsReported, want: "Deployment/" + talker},
		{title: "provisioned", begin: nothing, servers: d.machinesThere, hub: d.machinesReported, want: "Provisioned, 1 of 1 ready, v1.36.3"},
		{title: "scaled", begin: d.scale, servers: d.machinesThere, hub: d.machinesReported, want: "Provisioned, 3 of 3 ready, v1.36.3"},
		{title: "destroyed", begin: d.destroy, servers: d.goneThere, hub: d.goneFromHub, want: "gone"},
	}
	d.chapter("Two clusters from the template: made, connected, delivered to, scaled, destroyed")
	if err := d.play(ctx); err != nil {
		return err
	}
	if err := d.verdict(); err != nil || d.exit {
		return err
	}
	d.chapter("The console")
	return newcomer{d.demo}.login(ctx)
}

// clusterAPI starts what a management cluster has beside its agent.
func (d *templates) clusterAPI(ctx context.Context) (err error) {
	d.chapter("Cluster API's core manager and a provider start on " + management + "; each control plane that it makes is a real API server")
	on := d.world.Cluster(management)
	if d.manager, err = capi.Run(ctx, on); err != nil {
		return err
	}
	binaries := d.world.AgentBinaries()
	binaries[talker] = d.talker
	d.provider, err = provider.Run(ctx, on, kube.ClusterConfig{Controllers: true, Binaries: binaries})
	if err == nil {
		d.say("their definitions are served on %s, and their webhooks answer", management)
	}
	return err
}

// declare puts the template and the service for all clusters of it into Git and the hub.
func (d *templates) declare(ctx context.Context) error {
	d.chapter("Register the template, and a global service for every cluster that is made from it")
	files, kinds, err := capi.Template(template)
	if err != nil {
		return err
	}
	files["apps/talker/talker.yaml"] = fmt.Sprintf(talkerYAML, greets)
	if err := d.world.Git.Create(ctx, "fleet"); err != nil {
		return err
	}
	if _, err := d.world.Git.Commit(ctx, "fleet", "main", "a template of clusters, and an application", files); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"repos", "add", "fleet", d.world.Git.URL("fleet")},
		{"clusters", "templates", "apply", template, "--repository", "fleet", "--ref", "main", "--folder", template, "--kinds", strings.Join(kinds, ","), "--management-clusters", management},
		{"globalservices", "create", talker, "--tag", "made=dev", "--repo", "fleet", "--ref", "main", "--folder", "apps/talker"},
	} {
		if _, err := d.axle(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// play runs all steps of each cluster, and all clusters at the same time.
func (d *templates) play(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range d.clusters {
		group.Go(func() error {
			for _, s := range d.steps {
				began := time.Now()
				if err := s.begin(ctx, c); err != nil {
					return err
				}
				var answer string
				err := eventually.Wait(ctx, stepLimit, func() (err error) {
					answer, err = s.agreed(ctx, c)
					return err
				})
				if err != nil {
					return fmt.Errorf("%s is not %s: %w", c.name, s.title, err)
				}
				c.took, c.answers = append(c.took, time.Since(began)), append(c.answers, answer)
				d.say("%s is %s after %.1f s: %s", c.name, s.title, time.Since(began).Seconds(), answer)
			}
			return nil
		})
	}
	return group.Wait()
}

// agreed returns what the API servers and the hub both say.
func (s *step) agreed(ctx context.Context, c *made) (string, error) {
	servers, err := s.servers(ctx, c)
	if err != nil {
		return "", fmt.Errorf("the API server: %w", err)
	}
	hub, err := s.hub(ctx, c)
	if err != nil {
		return "", fmt.Errorf("the hub: %w", err)
	}
	if servers != hub || s.want != "" && servers != s.want {
		return "", fmt.Errorf("the API server says %q and the hub %q, want %q", servers, hub, s.want)
	}
	return servers, nil
}

func nothing(context.Context, *made) error { return nil }

func (d *templates) create(ctx context.Context, c *made) error {
	_, err := d.axle(ctx, "clusters", "create", c.name, "--template", template, "--on", management, "--tag", "made=dev",
		"--set", "region=us", "--set", `nodePools=[{"name": "workers", "count": 1}]`)
	if err != nil {
		return err
	}
	known, err := d.known(ctx, c)
	c.namespace = known.Origin.Namespace
	return err
}

func (d *templates) scale(ctx context.Context, c *made) error {
	_, err := d.axle(ctx, "clusters", "pools", "scale", c.name, "workers", "--replicas", "3")
	return err
}

func (d *templates) destroy(ctx context.Context, c *made) error {
	_, err := d.axle(ctx, "clusters", "destroy", c.name, "--yes")
	return err
}

// verdict prints what each step took.
func (d *templates) verdict() error {
	d.chapter("The verdict: what the API servers and the hub both say")
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "CLUSTER\tSTEP\tSECONDS\tAPI SERVERS AND HUB")
	for _, c := range d.clusters {
		for i, s := range d.steps {
			fmt.Fprintf(w, "%s\t%s\t%.1f\t%s\n", c.name, s.title, c.took[i].Seconds(), c.answers[i])
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("\n%d clusters made from a template, connected, scaled and destroyed; %.1f s in all\n", len(d.clusters), time.Since(d.started).Seconds())
	return nil
}

// epilogue says what people can do now.
func (d *templates) epilogue() {
	fmt.Printf(`
Everything stays up until Ctrl-C.

  console   %s
  e-mail    %s
  password  %s

Make a cluster there, or in another terminal:

  export AXLE_CONFIG=%s PATH=%s:$PATH
  axle clusters create mine --template %s --on %s --tag made=dev
  axle clusters get mine
  kubectl --kubeconfig %s get clusters,machines -A
  git clone %s fleet   # its repository: docs/howto/try-a-template.md makes a template of yours in it

`, d.world.Hub.URL, consoleEmail, consolePassword, d.world.Settings(), filepath.Dir(d.world.Programs["axle"]), template, management, d.world.Cluster(management).Kubeconfig(), d.world.Git.URL("fleet"))
}

// reported is the part of a cluster in the hub that is compared.
type reported struct {
	ID        string `json:"id"`
	Freshness string `json:"freshness"`
	Origin    struct {
		Namespace string `json:"namespace"`
		State     struct {
			Phase string `json:"phase"`
			Pools []struct {
				Desired  int      `json:"desired"`
				Ready    int      `json:"ready"`
				Versions []string `json:"versions"`
			} `json:"pools"`
		} `json:"state"`
	} `json:"origin"`
}

// known reads a cluster from the hub.
func (d *templates) known(ctx context.Context, c *made) (r reported, err error) {
	result, err := d.world.Axle(ctx, "clusters", "get", c.name, "-o", "json")
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(result.Out), &r)
}

func machines(phase string, ready, desired int, versions []string) string {
	return fmt.Sprintf("%s, %d of %d ready, %s", phase, ready, desired, strings.Join(versions, " and "))
}

func (d *templates) machinesReported(ctx context.Context, c *made) (string, error) {
	r, err := d.known(ctx, c)
	if err != nil {
		return "", err
	}
	ready, desired, versions := 0, 0, []string(nil)
	for _, p := range r.Origin.State.Pools {
		ready, desired, versions = ready+p.Ready, desired+p.Desired, append(versions, p.Versions...)
	}
	return machines(r.Origin.State.Phase, ready, desired, versions), nil
}
