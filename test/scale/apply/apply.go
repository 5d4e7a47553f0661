package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/test/procuse"
	"github.com/axle-cd/axle/test/scale/people"
	"github.com/axle-cd/axle/test/world"
)

// Config says what Measure measures.
type Config struct {
	// Services of 4 objects each; zero is 500.
	Services int
	// CRDs that are installed beforehand and that nobody uses.
	CRDs int
	// Chatty custom resources, in services of 4, get a status update each 10 s
	// while the agent idles.
	Chatty int
	// Peer is the program of test/peers/flux; empty leaves Flux's engine out.
	Peer string
	// Controllers are Flux's whole controllers; nil leaves them out.
	Controllers *Controllers
	// Idle is how long the idle agent is watched; zero is a minute.
	Idle time.Duration
	// PeerFirst lets the peers go before the agent: whoever comes second meets an
	// API server with the other's objects.
	PeerFirst bool
	// Passes is how many passes over all services are measured, one after the
	// other; the one that takes the median of CPU counts. Zero is one.
	Passes int
	// PassesOnly ends after them.
	PassesOnly bool
	// Limit bounds each phase; zero is 10 minutes.
	Limit    time.Duration
	Progress func(format string, args ...any)
}

// Cost is one phase, in the units of its fields' names.
type Cost struct {
	RequestsPerService float64 `json:"requests_per_service"`
	// CPUPerService is that of the agent and its render children.
	CPUPerService float64 `json:"agent_cpu_s_per_service"`
	APIServerCPU  float64 `json:"apiserver_cpu_s"`
	Wall          float64 `json:"wall_s"`
}

// Result is what one engine took.
type Result struct {
	Services int `json:"services"`
	// Install ends when every service is healthy. Noop is one pass over every
	// service, asked for, with nothing to change; Upgrade changes one field of
	// each in one commit.
	Install Cost `json:"install"`
	Noop    Cost `json:"noop"`
	Upgrade Cost `json:"upgrade"`
	// Rerender is a commit that changes a comment of each service, so that all
	// are rendered and nothing is written; Restart is a new process that finds
	// everything as it should be, until it is quiet.
	Rerender Cost `json:"rerender"`
	Restart  Cost `json:"restart"`
	// Idle is a minute in which nothing changes: whole numbers, not those of a
	// service.
	Idle struct {
		Requests int     `json:"requests"`
		Cores    float64 `json:"cores"`
	} `json:"idle"`
	// HealMS is the median from the deletion of an object to its return; zero
	// is an engine that only looks at its next interval.
	HealMS float64 `json:"heal_ms"`
	// Memory of the agent at the end of an idle minute and at its peak, and of its render children
	// together at their peak, in MiB.
	RSSIdle   float64 `json:"rss_idle_mb"`
	RSSPeak   float64 `json:"rss_peak_mb"`
	ChildPeak float64 `json:"child_peak_mb"`
	// Flux is Flux's engine in the same run, and Controllers its whole controllers,
	// both processes together; nil was not asked for.
	Flux        *Result `json:"flux,omitempty"`
	Controllers *Result `json:"flux_controllers,omitempty"`
}

// heals are the deletions that HealMS is the median of.
const heals = 20

// Measure lets a real agent install, leave alone, upgrade and heal services on a
// real API server, and the peers on the same one.
func Measure(ctx context.Context, cfg Config) (_ Result, err error) {
	if cfg.Services <= 0 {
		cfg.Services = 500
	}
	if cfg.Idle <= 0 {
		cfg.Idle = time.Minute
	}
	if cfg.Limit <= 0 {
		cfg.Limit = 10 * time.Minute
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string, ...any) {}
	}
	w, err := world.Start(ctx, world.Config{
		Clusters: []string{installCluster}, Pods: true, Audit: true, Hub: []string{"--repo-poll-interval", "5s", "--log-level", "warn"}, Progress: cfg.Progress,
	})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	run := &application{
		Config: cfg,
		installation: &installation{
			InstallConfig: InstallConfig{Services: cfg.Services, Idle: cfg.Idle, Limit: cfg.Limit, Progress: cfg.Progress},
			World:         w, say: cfg.Progress,
		},
	}
	run.files = run.app
	if err := run.crds(ctx); err != nil {
		return Result{}, err
	}
	if err := run.prepare(ctx); err != nil {
		return Result{}, err
	}
	var flux, whole *Result
	peers := func() (err error) {
		if cfg.Peer != "" && !cfg.PassesOnly {
			flux, err = run.peer(ctx)
		}
		if err == nil && cfg.Controllers != nil && !cfg.PassesOnly {
			whole, err = run.controllers(ctx)
		}
		return err
	}
	if cfg.PeerFirst {
		if err := peers(); err != nil {
			return Result{}, err
		}
	}
	out, err := run.play(ctx)
	if err == nil && !cfg.PeerFirst {
		err = peers()
	}
	out.Flux, out.Controllers = flux, whole
	return out, err
}

type application struct {
	Config
	*installation
}

// app is one service's files; the first services hold the custom resources.
func (a *application) app(n int) map[string]string {
	files := installApp(n)
	if n*installObjects >= a.Chatty {
		return files
	}
	name := installName(n)
	text := ""
	for k := range installObjects {
		text += fmt.Sprintf("---\napiVersion: chatty.example.test/v1\nkind: Report\nmetadata:\n  name: %s-%d\nspec:\n  of: %s\n", name, k, name)
	}
	return map[string]string{"apps/" + name + "/reports.yaml": text, "apps/" + name + "/config.yaml": files["apps/"+name+"/config.yaml"]}
}

// play runs the agent's phases.
func (a *application) play(ctx context.Context) (out Result, err error) {
	out.Services = a.installation.Services
	a.say("a real agent installs %d services of %d objects each", out.Services, installObjects)
	if err := a.step(ctx, a.itself(), &out, &out.Install, func(ctx context.Context) error {
		return errors.Join(a.agent.Start(), a.allHealthy(ctx))
	}); err != nil {
		return out, fmt.Errorf("install: %w", err)
	}
	if err := a.quiet(ctx, installUser, quiet); err != nil {
		return out, err
	}
	if err := a.idle(ctx, a.itself(), &out); err != nil {
		return out, fmt.Errorf("idle: %w", err)
	}
	if err := a.passes(ctx, &out); err != nil || a.PassesOnly {
		return out, err
	}
	if err := a.quiet(ctx, installUser, quiet); err != nil {
		return out, err
	}
	for _, one := range []struct {
		what   string
		cost   *Cost
		change func(name string) map[string]string
	}{{"field", &out.Upgrade, upgraded}, {"comment", &out.Rerender, commented}} {
		a.say("one commit changes a %s of every service", one.what)
		if err := errors.Join(a.upgrade(ctx, &out, one.cost, one.change), a.quiet(ctx, installUser, quiet)); err != nil {
			return out, fmt.Errorf("a %s changes: %w", one.what, err)
		}
	}
	a.say("the agent is started again")
	if err := a.agent.Kill(); err != nil {
		return out, err
	}
	if err := a.step(ctx, a.itself(), &out, &out.Restart, func(ctx context.Context) error { return errors.Join(a.agent.Start(), a.quiet(ctx, installUser, quiet)) }); err != nil {
		return out, fmt.Errorf("restart: %w", err)
	}
	a.say("deleting %d objects, one after the other", heals)
	out.HealMS, err = a.heal(ctx)
	return out, err
}

// step measures one phase of the agent or of a peer.
func (a *application) step(ctx context.Context, who measured, out *Result, cost *Cost, do func(context.Context) error) error {
	api, err := a.apiServerCPU()
	if err != nil {
		return err
	}
	p, err := a.phase(ctx, who, do)
	if err != nil {
		return err
	}
	after, err := a.apiServerCPU()
	services := float64(out.Services)
	*cost = Cost{RequestsPerService: float64(p.Requests) / services, CPUPerService: p.CPU / services, APIServerCPU: after - api, Wall: p.Seconds}
	out.RSSPeak, out.ChildPeak = max(out.RSSPeak, mib(p.RSS)), max(out.ChildPeak, mib(p.ChildRSS))
	return err
}

// idle watches processes to which nothing happens, while custom resources
// chatter if there are any.
func (a *application) idle(ctx context.Context, who measured, out *Result) error {
	a.say("watching it idle for %s", a.Config.Idle)
	var updates atomic.Int64
	p, err := a.phase(ctx, who, func(ctx context.Context) error {
		ctx, stop := context.WithTimeout(ctx, a.Config.Idle)
		defer stop()
		var chatter sync.WaitGroup
		chatter.Go(func() { a.chatter(ctx, &updates) })
		err := jitter.Wait(ctx, 2*a.Config.Idle)
		chatter.Wait()
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return err
	})
	if a.Chatty > 0 {
		a.say("%d status updates meanwhile", updates.Load())
	}
	out.Idle.Requests, out.Idle.Cores, out.RSSIdle = p.Requests, p.CPU/p.Seconds, mib(who.usage().RSS)
	return err
}

// passes measures passes over every service, with nothing to change.
func (a *application) passes(ctx context.Context, out *Result) error {
	all := make([]Cost, max(1, a.Passes))
	for n := range all {
		a.say("a pass over every service, with nothing to change (%d of %d)", n+1, len(all))
		if err := a.step(ctx, a.itself(), out, &all[n], a.syncAll); err != nil {
			return fmt.Errorf("noop: %w", err)
		}
		a.say("it took %.2f ms of CPU for each service, in %.1f s", 1000*all[n].CPUPerService, all[n].Wall)
	}
	slices.SortFunc(all, func(one, other Cost) int { return cmp.Compare(one.CPUPerService, other.CPUPerService) })
	out.Noop = all[len(all)/2]
	return nil
}

// syncAll asks for a pass over every service and waits for all.
func (a *application) syncAll(ctx context.Context) error {
	err := a.each(ctx, func(ctx context.Context, n int) error {
		_, err := a.people.API.Services.Sync(ctx, connect.NewRequest(&hubv1.SyncServiceRequest{Ref: people.ServiceRef(installCluster, installName(n))}))
		return err
	})
	return errors.Join(err, a.allHealthy(ctx), a.quiet(ctx, installUser, quiet))
}

// upgrade changes each service by one commit. The phase begins when the Git
// host delivers its webhook: it holds the hub's fetch and the hint to the agent.
func (a *application) upgrade(ctx context.Context, out *Result, cost *Cost, change func(name string) map[string]string) (err error) {
	files := map[string]string{}
	for n := range a.installation.Services {
		maps.Copy(files, change(installName(n)))
	}
	if a.revision, err = a.World.Git.Commit(ctx, "fleet", "main", "change", files); err != nil {
		return err
	}
	return a.step(ctx, a.itself(), out, cost, func(ctx context.Context) error {
		if err := a.people.Push(ctx, "fleet"); err != nil {
			return err
		}
		return a.allHealthy(ctx)
	})
}

// upgraded is a service's file with one field changed.
func upgraded(name string) map[string]string {
	file := "apps/" + name + "/config.yaml"
	return map[string]string{file: people.App(name, "upgraded")[file]}
}

// commented is the same with a comment.
func commented(name string) map[string]string {
	files := upgraded(name)
	for path := range files {
		files[path] += "# It says nothing new.\n"
	}
	return files
}

// apiServerCPU is what the API server took so far, in seconds.
func (a *application) apiServerCPU() (float64, error) {
	u, err := procuse.Of(a.World.Cluster(installCluster).APIServerPID())
	return u.CPU.Seconds(), err
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// folder is where the peer's manifests of one phase lie.
func (a *application) folder(phase string) string {
	return filepath.Join(a.World.Dir, "peer", phase)
}
