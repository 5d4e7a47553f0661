package world

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/kube"
)

// AgentImage is the image that the clusters' process kubelets run as an agent.
const AgentImage = kube.ImagePrefix + "axle-agent:dev"

// Config says what the world contains. The zero value is a hub on SQLite with a Git
// server and no cluster.
type Config struct {
	// Dir keeps everything; empty is a temporary folder that Close removes, and clusters on
	// API servers that the worlds of this process use in turn (kube.Lease).
	Dir string
	// Leases takes such API servers for a world with a folder as well. Their logs are not there.
	Leases bool
	// Clusters are the names of API servers to start with the rest.
	Clusters []string
	// Pods gives each cluster a controller-manager, kwok and the process
	// kubelet, so that Deployments become ready and agents run as pods.
	Pods bool
	// Controllers gives each cluster a controller-manager without the rest of Pods.
	Controllers bool
	// Shells gives each cluster the process kubelet alone: pods of the image
	// axle.test/sh:1 run, and commands in them, but nothing makes pods.
	Shells bool
	// Audit records each API server's requests.
	Audit bool
	// Replicas, when above zero, are that many hubs on one Postgres behind a
	// front, instead of one on SQLite.
	Replicas int
	// Installed starts no hub: one is installed into a cluster, whose pods then run
	// axle-hub and axle-operator, and the caller sets World.Hub by HubAt.
	Installed bool
	// TLS makes a single hub serve TLS with its own authority: kubectl and client-go
	// send no token of a kubeconfig over plain HTTP.
	TLS bool
	// Hub are more flags of axle-hub serve.
	Hub []string
	// HubEnv are more environment variables of the hub.
	HubEnv []string
	// Git configures the Git server.
	Git gitserver.Config
	// Rest takes builds of the hub and the agent that World.Rest can ask.
	Rest bool
	// Only are the programs to build; empty is all of them. The hub is always.
	Only []string
	// Build chooses the builds of our programs.
	Build bin.Options
	// Pages gives the hub its console and documentation. A test without it does not run
	// again because a style changed.
	Pages bin.Pages
	// Progress is called for each step; may be nil.
	Progress func(format string, args ...any)
	Log      *slog.Logger
}

// World is what runs.
type World struct {
	Config
	Git *gitserver.Server
	// Hub is the one hub, or the first of several.
	Hub *Hub
	// Replicated is set when there are several hubs.
	Replicated *Replicas
	// Programs are the built files by name: axle, axle-hub, axle-agent,
	// axle-render and axle-render-rare, the last two in one folder.
	Programs map[string]string

	// bed has the clusters of a world that does not lease them.
	bed       *kube.Bed
	temporary bool
	mu        sync.Mutex
	clusters  map[string]*kube.Cluster
	agents    []*Agent
}

// Start builds what is missing and starts everything. After an error nothing keeps
// running.
func Start(ctx context.Context, c Config) (w *World, err error) {
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	w = &World{Config: c, Programs: map[string]string{}, clusters: map[string]*kube.Cluster{}}
	if w.Dir == "" {
		if w.Dir, err = os.MkdirTemp("", "axle-world-"); err != nil {
			return nil, err
		}
		w.temporary, w.Leases = true, true
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
			w = nil
		}
	}()
	if err = w.build(ctx); err != nil {
		return w, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.startClusters(groupCtx) })
	group.Go(func() (err error) { w.Git, err = gitserver.Start(groupCtx, c.Git); return err })
	group.Go(func() (err error) {
		if c.Replicas > 0 {
			return w.startReplicas(groupCtx, c.Replicas)
		}
		if !c.Installed {
			w.Hub, err = w.startHub(groupCtx)
		}
		return err
	})
	err = group.Wait()
	return w, err
}

// build builds our programs, one after the other: the compiler uses every
// processor anyway.
func (w *World) build(ctx context.Context) error {
	names := append([]string{"axle-hub"}, w.Only...)
	if len(w.Only) == 0 {
		names = []string{"axle", "axle-hub", "axle-agent", "axle-render", "axle-render-rare"}
	}
	if w.Installed {
		names = append(names, "axle-operator")
	}
	for _, name := range names {
		options := w.Build
		if name == "axle-hub" {
			options.Pages = w.Pages
		}
		if w.Config.Rest && (name == "axle-hub" || name == "axle-agent") {
			options.Tags = []string{"testbed"}
		}
		path, err := bin.Path(ctx, name, options)
		if err != nil {
			return err
		}
		w.Programs[name] = path
	}
	return nil
}

func (w *World) startClusters(ctx context.Context) error {
	if len(w.Clusters) == 0 {
		return nil
	}
	if !w.Leases {
		var err error
		if w.bed, err = kube.Start(ctx, kube.Config{Dir: filepath.Join(w.Dir, "kube"), Log: w.Log}); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range w.Clusters {
		group.Go(func() error { _, err := w.AddCluster(ctx, name); return err })
	}
	return group.Wait()
}

// AddCluster starts one more cluster.
func (w *World) AddCluster(ctx context.Context, name string) (*kube.Cluster, error) {
	config := kube.ClusterConfig{Name: name, Audit: w.Audit, Controllers: w.Controllers}
	if w.Pods {
		config.Controllers, config.Kwok = true, true
		config.Binaries = w.AgentBinaries()
		if w.Installed {
			for _, name := range []string{"axle-hub", "axle-operator"} {
				config.Binaries[name] = w.Programs[name]
			}
		}
	}
	if w.Shells && !w.Pods {
		config.Binaries = map[string]string{"sh": "/bin/sh"}
	}
	start := kube.Lease
	if w.bed != nil {
		start = w.bed.StartCluster
	}
	cluster, err := start(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters[name] = cluster
	return cluster, nil
}

// AgentBinaries are the programs with which a process kubelet runs agents as pods.
func (w *World) AgentBinaries() map[string]string {
	binaries := map[string]string{}
	for _, name := range []string{"axle-agent", "axle-render", "axle-render-rare"} {
		binaries[name] = w.Programs[name]
	}
	return binaries
}

// Bed has the clusters of a world with a folder that does not lease them; nil for others.
func (w *World) Bed() *kube.Bed { return w.bed }

// Cluster returns a cluster by name, nil when there is none.
func (w *World) Cluster(name string) *kube.Cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clusters[name]
}

// Close ends everything and removes a temporary folder.
func (w *World) Close() error {
	var failures []error
	w.mu.Lock()
	agents := w.agents
	w.agents = nil
	w.mu.Unlock()
	for _, a := range agents {
		failures = append(failures, a.Kill())
	}
	if w.Replicated != nil {
		failures = append(failures, w.Replicated.close())
	} else if w.Hub != nil {
		failures = append(failures, w.Hub.Kill())
	}
	if w.Git != nil {
		failures = append(failures, w.Git.Close())
	}
	for _, cluster := range w.clusters {
		failures = append(failures, cluster.Close())
	}
	if w.bed != nil {
		failures = append(failures, w.bed.Close())
	}
	if w.temporary {
		failures = append(failures, removeAll(w.Dir))
	}
	return errors.Join(failures...)
}

// removeAll removes a folder into which a process that was just killed may
// still have been writing.
func removeAll(dir string) error {
	var err error
	for range 5 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}

// tail returns the end of a log for an error.
func tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const most = 3000
	if len(data) > most {
		data = data[len(data)-most:]
	}
	return strings.TrimSpace(string(data))
}

// readyWithin bounds the start of each of our programs.
const readyWithin = 4 * time.Minute
