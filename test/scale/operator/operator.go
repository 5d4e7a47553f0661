package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/procuse"
	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/people"
	"github.com/axle-cd/axle/test/world"
)

const (
	management = "mgmt"
	// space is where the operator runs; its custom resources act with the operator's token.
	space = "axle-system"
	user  = "system:serviceaccount:" + space + ":axle-operator"
	// loaded bounds the wait for all custom resources.
	loaded = 15 * time.Minute
	// still is for how long nobody may call the hub until the operator counts as idle.
	still = 5 * time.Second
)

// Config says what Measure measures.
type Config struct {
	// Resources is about how many custom resources are declared; zero is 5,000. Nine of
	// ten are services.
	Resources int
	// Idle is how long the idle operator is watched; zero is two minutes.
	Idle time.Duration
	// Player is the command that runs scale.Play: the services' agents. Without it all
	// are contexts, and one repository, which need no agent to be ready.
	Player   []string
	Progress func(format string, args ...any)
}

// Result is what the operator did and took. Calls are unary calls of the hub's API.
type Result struct {
	Resources int `json:"crs"`
	// Load is from the operator's start until each custom resource is Synchronized.
	LoadCPU      float64 `json:"cpu_s_load"`
	LoadSeconds  float64 `json:"load_s"`
	LoadCalls    int     `json:"hub_calls_load"`
	LoadRequests int     `json:"api_requests_load"`
	// Idle is while nothing changes, after a restart, when the checks are spread over
	// their interval. Calls and requests are those of a minute;
	// the renewals of the lease, one every 2 s, are left out.
	IdleCores    float64 `json:"idle_cores"`
	RSS          float64 `json:"rss_mb"`
	IdleCalls    float64 `json:"hub_calls_idle"`
	IdleRequests float64 `json:"api_requests_idle"`
	// An edit is a changed field of one ServiceDeployment, until its agent has applied it
	// and the operator has seen that; EditSeconds end when the hub has it.
	EditCalls    int     `json:"hub_calls_one_edit"`
	EditRequests int     `json:"api_requests_one_edit"`
	EditSeconds  float64 `json:"one_edit_s"`
	// Restart is from the start of an operator that finds everything done until its
	// caches are filled; its calls are those until it is still.
	RestartCPU   float64 `json:"cpu_s_restart"`
	RestartCalls int     `json:"hub_calls_restart"`
	// Peak is the largest memory.
	Peak float64 `json:"rss_peak_mb"`
}

// bench is one run.
type bench struct {
	Config
	w       *world.World
	people  *people.People
	players *scale.Players
	gate    *gate
	objects *objects
	process *process
	result  Result
}

// Measure declares custom resources, starts the operator, edits one, and starts it
// again.
func Measure(ctx context.Context, c Config) (_ Result, err error) {
	c.Resources, c.Idle = cmp.Or(c.Resources, 5000), cmp.Or(c.Idle, 2*time.Minute)
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	b := &bench{Config: c}
	b.Progress("an API server and a hub start")
	if b.w, err = world.Start(ctx, world.Config{Clusters: []string{management}, Audit: true, Hub: []string{"--log-level", "warn"}}); err != nil {
		return b.result, err
	}
	defer func() { err = errors.Join(err, b.w.Close()) }()
	defer func() {
		b.process.kill()
		if b.gate != nil {
			b.gate.Close()
		}
		if b.players != nil {
			err = errors.Join(err, b.players.Close())
		}
	}()
	for _, step := range []func(context.Context) error{b.prepare, b.declare, b.load, b.edit, b.restart} {
		if err := step(ctx); err != nil {
			return b.result, fmt.Errorf("%w; end of the operator's log:\n%s", err, b.process.tail())
		}
	}
	return b.result, nil
}

// services and clusters of the run: 45 services on each cluster.
func (b *bench) services() int {
	if len(b.Player) == 0 {
		return 0
	}
	return b.Resources * 9 / 10
}

func (b *bench) clusters() int { return (b.services() + 44) / 45 }

// edited is one of those that are edited.
func (b *bench) edited(n int) (kind, name string) {
	if len(b.Player) == 0 {
		return "ServiceContext", contextName(n)
	}
	return "ServiceDeployment", serviceName(n)
}

// prepare logs in, installs what the operator needs, and lets the agents register.
func (b *bench) prepare(ctx context.Context) error {
	web, err := b.w.Hub.Client()
	if err != nil {
		return err
	}
	if b.people, err = people.SetUp(ctx, people.Hub{URL: b.w.Hub.URL, Web: web}, b.w.Hub.SetupTokenFile()); err != nil {
		return err
	}
	if err := b.people.KeepToken(b.tokenFile()); err != nil {
		return err
	}
	if b.gate, err = newGate(b.w.Hub.URL, web); err != nil {
		return err
	}
	if _, err := b.w.Kubectl(ctx, management, "create", "namespace", space); err != nil {
		return err
	}
	root, err := bin.Root()
	if err != nil {
		return err
	}
	for _, folder := range []string{"crds", "operator"} {
		if _, err := b.w.Kubectl(ctx, management, "apply", "--server-side", "-f", filepath.Join(root, "deploy", folder)); err != nil {
			return err
		}
	}
	if err := b.w.Git.Create(ctx, "fleet"); err != nil {
		return err
	}
	if _, err := b.w.Git.Commit(ctx, "fleet", "main", "begin", map[string]string{"app/one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"}); err != nil {
		return err
	}
	if len(b.Player) == 0 {
		return nil
	}
	b.Progress("%d agents come, simulated", b.clusters())
	b.players, err = scale.StartPlayers(ctx, b.Player, scale.PlayerConfig{
		URL: b.w.Hub.URL, Count: b.clusters(), Interval: 20 * time.Second, Spread: 20 * time.Second,
	}, b.people.Bootstrap, b.Progress)
	if err != nil {
		return err
	}
	return b.players.Start()
}

func (b *bench) tokenFile() string { return filepath.Join(b.w.Dir, "token") }

// declare creates the custom resources before the operator runs.
func (b *bench) declare(ctx context.Context) (err error) {
	if b.objects, err = newObjects(b.w.Cluster(management).Config()); err != nil {
		return err
	}
	all := manifests(b.w.Git.URL("fleet"), b.clusters(), b.services(), b.Resources)
	b.result.Resources = len(all)
	b.Progress("%d custom resources are created", len(all))
	return b.objects.create(ctx, all)
}

// load starts the operator and waits until all are done.
func (b *bench) load(ctx context.Context) (err error) {
	b.Progress("the operator starts")
	if b.process, err = newProcess(ctx, b); err != nil {
		return err
	}
	mark, err := b.w.Cluster(management).AuditMark()
	if err != nil {
		return err
	}
	began, before := time.Now(), b.gate.count()
	if err := b.process.start(); err != nil {
		return err
	}
	err = eventually.Wait(ctx, loaded, func() error {
		synchronized, _, err := b.objects.states(ctx)
		if err == nil && synchronized < b.result.Resources {
			err = fmt.Errorf("%d of %d custom resources are Synchronized", synchronized, b.result.Resources)
		}
		return err
	})
	if err != nil {
		return err
	}
	b.result.LoadSeconds, b.result.LoadCPU, b.result.LoadCalls = time.Since(began).Seconds(), b.process.use().CPU.Seconds(), b.gate.count()-before
	if b.result.LoadRequests, err = b.requests(mark); err != nil {
		return err
	}
	b.Progress("all are Synchronized after %.0f s", b.result.LoadSeconds)
	return b.untilReady(ctx)
}

// untilReady waits until every custom resource is ready and nobody calls the hub.
func (b *bench) untilReady(ctx context.Context) error {
	err := eventually.Wait(ctx, loaded, func() error {
		_, ready, err := b.objects.states(ctx)
		if err == nil && ready < b.result.Resources {
			err = fmt.Errorf("%d of %d custom resources are Ready", ready, b.result.Resources)
		}
		return err
	})
	b.result.Peak = max(b.result.Peak, mib(b.process.use().RSS))
	return errors.Join(err, b.untilStill(ctx))
}

// untilStill waits until the operator has not called the hub for a while.
func (b *bench) untilStill(ctx context.Context) error {
	return eventually.Wait(ctx, loaded, func() error {
		if since := b.gate.quiet(); since < still {
			return fmt.Errorf("the operator called the hub %v ago", since)
		}
		return nil
	})
}

// edit changes a field of one.
func (b *bench) edit(ctx context.Context) error {
	b.Progress("one is edited")
	mark, err := b.w.Cluster(management).AuditMark()
	if err != nil {
		return err
	}
	began, before := time.Now(), b.gate.count()
	if err := b.change(ctx, 0); err != nil {
		return err
	}
	b.result.EditSeconds = time.Since(began).Seconds()
	if err := b.untilReady(ctx); err != nil {
		return err
	}
	b.result.EditCalls = b.gate.count() - before
	b.result.EditRequests, err = b.requests(mark)
	return err
}

// change edits one and waits until the hub has the edit.
func (b *bench) change(ctx context.Context, n int) error {
	kind, name := b.edited(n)
	if err := b.objects.edit(ctx, kind, name); err != nil {
		return err
	}
	return eventually.Wait(ctx, people.Settled, func() error { return b.objects.edited(ctx, kind, name) })
}

// restart starts the operator again and watches it idle, when the checks of all are
// spread over their interval.
func (b *bench) restart(ctx context.Context) error {
	b.Progress("the operator is started again")
	b.process.kill()
	before := b.gate.count()
	if err := b.process.start(); err != nil {
		return err
	}
	// One edit that arrives says that all caches are filled and its lease is held.
	if err := b.change(ctx, 1); err != nil {
		return err
	}
	b.result.RestartCPU, b.result.RestartCalls = b.process.use().CPU.Seconds(), b.gate.count()-before
	b.Progress("watching it idle for %s", b.Idle)
	mark, err := b.w.Cluster(management).AuditMark()
	if err != nil {
		return err
	}
	use, calls, began := b.process.use(), b.gate.count(), time.Now()
	if err := jitter.Wait(ctx, b.Idle); err != nil {
		return err
	}
	minutes := time.Since(began).Minutes()
	now := b.process.use()
	b.result.IdleCores, b.result.RSS = (now.CPU-use.CPU).Seconds()/(60*minutes), mib(now.RSS)
	b.result.Peak = max(b.result.Peak, b.result.RSS)
	b.result.IdleCalls = float64(b.gate.count()-calls) / minutes
	requests, err := b.requests(mark)
	b.result.IdleRequests = float64(requests) / minutes
	return err
}

// requests counts what the operator asked the API server for since a mark, without the
// renewals of its lease.
func (b *bench) requests(mark int64) (n int, err error) {
	events, err := b.w.Cluster(management).AuditSince(mark)
	for _, r := range events.ByUser(user).Requests() {
		if r.Object.Resource != "leases" {
			n++
		}
	}
	return n, err
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func serviceName(n int) string { return fmt.Sprintf("app-%04d", n) }
func contextName(n int) string { return fmt.Sprintf("facts-%04d", n) }

// tail is the end of the operator's log.
func (p *process) tail() string {
	if p == nil {
		return ""
	}
	log, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(log[max(0, len(log)-2048):]))
}

// use is what the operator takes; nothing when it does not run.
func (p *process) use() procuse.Usage {
	u, err := procuse.Of(p.command.Process.Pid)
	if err != nil {
		return procuse.Usage{}
	}
	return u
}
