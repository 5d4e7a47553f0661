package templates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/capi"
	"github.com/axle-cd/axle/test/capi/provider"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/procuse"
	"github.com/axle-cd/axle/test/world"
)

const (
	management = "mgmt"
	template   = "bed"
	// each bounds the time for one cluster: they share the processors.
	each = 2 * time.Minute
	// looks is how often the hub is asked which clusters are connected.
	looks = 500 * time.Millisecond
)

// Config says what is measured.
type Config struct {
	// Clusters are made at once.
	Clusters int
	Progress func(format string, args ...any)
}

// Result is what was measured, from the first request until the last cluster was connected.
type Result struct {
	Clusters int `json:"clusters"`
	// CreateP50 is the median of the seconds from the request until the cluster's own agent
	// is connected.
	CreateP50 float64 `json:"create_p50_s"`
	// The processor times are those for one cluster. Agent is the management cluster's.
	CoreCPU  float64 `json:"core_cpu_s_per_cluster"`
	AgentCPU float64 `json:"agent_cpu_s_per_cluster"`
	HubCPU   float64 `json:"hub_cpu_s_per_cluster"`
}

// bench is one run.
type bench struct {
	Config
	world   *world.World
	manager *capi.Manager
	agent   *world.Agent
}

// Measure makes clusters and destroys them.
func Measure(ctx context.Context, c Config) (r Result, err error) {
	if c.Clusters < 1 {
		return r, errors.New("there are no clusters to make")
	}
	b := &bench{Config: c}
	b.Progress("the management cluster starts, with the core manager of Cluster API")
	b.world, err = world.Start(ctx, world.Config{Clusters: []string{management}, Controllers: true, Hub: []string{"--agent-image", world.AgentImage, "--log-level", "warn"}})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.world.Close()) }()
	on := b.world.Cluster(management)
	if b.manager, err = capi.Run(ctx, on); err != nil {
		return r, err
	}
	defer b.manager.Close()
	bed, err := provider.Run(ctx, on, kube.ClusterConfig{Controllers: true, Binaries: b.world.AgentBinaries()})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	if err := b.declare(ctx); err != nil {
		return r, err
	}
	return b.run(ctx)
}

// declare connects the management cluster and registers the template.
func (b *bench) declare(ctx context.Context) (err error) {
	if err := b.world.Login(ctx); err != nil {
		return err
	}
	if b.agent, err = b.world.ConnectProcess(ctx, management, world.AgentOptions{}); err != nil {
		return err
	}
	files, kinds, err := capi.Template(template)
	if err != nil {
		return err
	}
	if err := b.world.Git.Create(ctx, "fleet"); err != nil {
		return err
	}
	if _, err := b.world.Git.Commit(ctx, "fleet", "main", "a template", files); err != nil {
		return err
	}
	if _, err := b.world.Axle(ctx, "repos", "add", "fleet", b.world.Git.URL("fleet")); err != nil {
		return err
	}
	_, err = b.world.Axle(ctx, "clusters", "templates", "apply", template, "--repository", "fleet", "--ref", "main", "--folder", template,
		"--kinds", strings.Join(kinds, ","), "--management-clusters", management)
	return err
}

// run makes all clusters at once, and destroys them.
func (b *bench) run(ctx context.Context) (r Result, err error) {
	r.Clusters = b.Clusters
	var names []string
	for n := range b.Clusters {
		names = append(names, fmt.Sprintf("made-%d", n+1))
	}
	before, err := b.used()
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := b.all(ctx, names, "create", "--template", template, "--set", "region=us"); err != nil {
		return r, err
	}
	took, err := b.connected(ctx, began)
	if err != nil {
		return r, err
	}
	after, err := b.used()
	if err != nil {
		return r, err
	}
	slices.Sort(took)
	r.CreateP50 = took[len(took)/2].Seconds()
	for i, into := range []*float64{&r.CoreCPU, &r.AgentCPU, &r.HubCPU} {
		*into = (after[i] - before[i]).Seconds() / float64(b.Clusters)
	}
	b.Progress("all are connected after %.1f s; they are destroyed", took[len(took)-1].Seconds())
	began = time.Now()
	if err := b.all(ctx, names, "destroy", "--yes"); err != nil {
		return r, err
	}
	err = eventually.Wait(ctx, each*time.Duration(b.Clusters), func() error {
		left, err := b.clusters(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d clusters are left", len(left))
		}
		return err
	})
	b.Progress("all have left the hub after %.1f s", time.Since(began).Seconds())
	return r, err
}

// all runs one command for each cluster.
func (b *bench) all(ctx context.Context, names []string, verb string, flags ...string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for _, name := range names {
		group.Go(func() error {
			_, err := b.world.Axle(ctx, append([]string{"clusters", verb, name}, flags...)...)
			return err
		})
	}
	return group.Wait()
}

// connected returns when each cluster was seen with an agent.
func (b *bench) connected(ctx context.Context, began time.Time) (took []time.Duration, err error) {
	seen := map[string]bool{}
	pace := time.NewTicker(looks)
	defer pace.Stop()
	ctx, cancel := context.WithTimeout(ctx, each*time.Duration(b.Clusters))
	defer cancel()
	for {
		now, err := b.clusters(ctx)
		if err != nil {
			return nil, err
		}
		for name, fresh := range now {
			if fresh && !seen[name] {
				seen[name] = true
				took = append(took, time.Since(began))
				b.Progress("%s is connected, the %d. of %d", name, len(took), b.Clusters)
			}
		}
		if len(took) == b.Clusters {
			return took, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d clusters are connected: %w", len(took), b.Clusters, ctx.Err())
		case <-pace.C:
		}
	}
}

// clusters are those that were made, and whether each has a fresh agent.
func (b *bench) clusters(ctx context.Context) (map[string]bool, error) {
	result, err := b.world.Axle(ctx, "clusters", "list", "-o", "json")
	if err != nil {
		return nil, err
	}
	var list []struct {
		Name      string `json:"name"`
		Freshness string `json:"freshness"`
	}
	if err := json.Unmarshal([]byte(result.Out), &list); err != nil {
		return nil, err
	}
	fresh := map[string]bool{}
	for _, c := range list {
		if c.Name != management {
			fresh[c.Name] = c.Freshness == "Fresh"
		}
	}
	return fresh, nil
}

// used is the processor time of the core manager, the agent and the hub, with their children.
func (b *bench) used() (all [3]time.Duration, err error) {
	for i, pid := range []int{b.manager.PID(), b.agent.Pid(), b.world.Hub.Pid()} {
		u, err := procuse.Of(pid)
		if err != nil {
			return all, err
		}
		all[i] = u.CPU
	}
	return all, nil
}
