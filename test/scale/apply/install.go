package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/test/procuse"
	"github.com/axle-cd/axle/test/scale/people"
	"github.com/axle-cd/axle/test/world"
)

const (
	// installCluster is the one cluster, and installUser whom its API server
	// takes the agent for, so that its requests can be told from others'.
	installCluster = "bench"
	installUser    = "axle-agent"
	// installObjects are in each service.
	installObjects = 4
	// quiet is how long the agent must send nothing to count as done, and
	// registerLimit how long it may take to register.
	quiet         = 10 * time.Second
	registerLimit = 2 * time.Minute
	// lookEach, for each service, is how long the hub is not asked how far it
	// is. A list of 500 services costs it tens of milliseconds, which nobody
	// else on a small machine has meanwhile.
	lookEach = 500 * time.Microsecond
)

// InstallConfig says what Install measures.
type InstallConfig struct {
	// Services of 4 objects each; zero is 500.
	Services int
	// Idle is how long the idle agent is watched; zero is a minute.
	Idle time.Duration
	// Limit bounds the installation; zero is 6 minutes.
	Limit    time.Duration
	Progress func(format string, args ...any)
}

// Phase is what one part of an installation took, of the agent's process and
// its render children.
type Phase struct {
	Seconds  float64 `json:"seconds"`
	Requests int     `json:"requests"`
	CPU      float64 `json:"cpuSeconds"`
	// RSS is the agent's largest memory, ChildRSS that of all its render
	// children together, in bytes.
	RSS      int64 `json:"rssBytes"`
	ChildRSS int64 `json:"childRSSBytes"`
}

// fewRequests is up to how many requests a phase names them: an idle agent should make
// none, and whoever sees one wants to know which.
const fewRequests = 10

// Installed is what Install found.
type Installed struct {
	Services int `json:"services"`
	Objects  int `json:"objects"`
	// Install ends when the hub shows every service healthy. Idle is a while
	// in which nothing changes. Sync asks for one pass over every service, as
	// a person would, with nothing to change.
	Install Phase `json:"install"`
	Idle    Phase `json:"idle"`
	Sync    Phase `json:"sync"`
}

// Install lets a real agent install services on a real API server.
func Install(ctx context.Context, cfg InstallConfig) (_ Installed, err error) {
	if cfg.Services <= 0 {
		cfg.Services = 500
	}
	if cfg.Idle <= 0 {
		cfg.Idle = time.Minute
	}
	if cfg.Limit <= 0 {
		cfg.Limit = 6 * time.Minute
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string, ...any) {}
	}
	w, err := world.Start(ctx, world.Config{
		Clusters: []string{installCluster}, Pods: true, Audit: true, Hub: []string{"--repo-poll-interval", "5s", "--log-level", "warn"}, Progress: cfg.Progress,
	})
	if err != nil {
		return Installed{}, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	run := &installation{InstallConfig: cfg, World: w, say: cfg.Progress}
	if err := run.prepare(ctx); err != nil {
		return Installed{}, err
	}
	return run.measure(ctx)
}

type installation struct {
	InstallConfig
	World  *world.World
	people *people.People
	say    func(format string, args ...any)
	agent  *world.Agent
	// files of one service, by path; nil is installApp.
	files    func(n int) map[string]string
	revision string // that every service must have applied; empty is any
}

// prepare registers the agent and declares the services while it is away.
func (i *installation) prepare(ctx context.Context) (err error) {
	web, err := i.World.Hub.Client()
	if err != nil {
		return err
	}
	if i.people, err = people.SetUp(ctx, people.Hub{URL: i.World.Hub.URL, Web: web}, i.World.Hub.SetupTokenFile()); err != nil {
		return err
	}
	token := filepath.Join(i.World.Dir, "token")
	if err := i.people.KeepToken(token); err != nil {
		return err
	}
	if _, err := i.World.Axle(ctx, "login", i.World.Hub.URL, "--token-file", token, "--name", "bench"); err != nil {
		return err
	}
	// The agent's manifests would bring it, where it keeps its inventories.
	if _, err := i.World.Kubectl(ctx, installCluster, "create", "namespace", "axle-system"); err != nil {
		return err
	}
	if i.agent, err = i.World.ConnectProcess(ctx, installCluster, world.AgentOptions{User: installUser, Flags: []string{"--poll-interval", "10s"}}); err != nil {
		return err
	}
	if err := eventually.Wait(ctx, registerLimit, i.registered(ctx)); err != nil {
		return err
	}
	if err := i.agent.Kill(); err != nil {
		return err
	}
	files := map[string]string{}
	for n := range i.Services {
		if i.files != nil {
			maps.Copy(files, i.files(n))
			continue
		}
		maps.Copy(files, installApp(n))
	}
	if err := i.people.Repository(ctx, i.World.Git, "fleet", files); err != nil {
		return err
	}
	if err := i.each(ctx, func(ctx context.Context, n int) error {
		return i.people.Service(ctx, installCluster, installName(n), "fleet", "main", "apps/"+installName(n))
	}); err != nil {
		return err
	}
	return i.each(ctx, func(ctx context.Context, n int) error {
		return i.people.Produced(ctx, installCluster, installName(n), "")
	})
}

// each calls do for every service, a few at a time.
func (i *installation) each(ctx context.Context, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for n := range i.Services {
		group.Go(func() error { return do(ctx, n) })
	}
	return group.Wait()
}

func (i *installation) registered(ctx context.Context) func() error {
	return func() error {
		got, err := i.people.API.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: installCluster}))
		if err == nil && (!got.Msg.GetRegistered() || got.Msg.GetPolledAt() == 0) {
			err = errors.New("the agent has not registered; end of its log:\n" + i.agent.Tail())
		}
		return err
	}
}

// measure runs the phases.
func (i *installation) measure(ctx context.Context) (out Installed, err error) {
	out.Services, out.Objects = i.Services, i.Services*installObjects
	i.say("a real agent installs %d services of %d objects each", i.Services, installObjects)
	out.Install, err = i.phase(ctx, i.itself(), func(ctx context.Context) error { return errors.Join(i.agent.Start(), i.allHealthy(ctx)) })
	if err != nil {
		return out, err
	}
	i.say("installed in %.1f s; waiting until the agent is quiet", out.Install.Seconds)
	if err := i.quiet(ctx, installUser, quiet); err != nil {
		return out, err
	}
	i.say("it is quiet; watching it for %s", i.Idle)
	if out.Idle, err = i.phase(ctx, i.itself(), func(ctx context.Context) error { return jitter.Wait(ctx, i.Idle) }); err != nil {
		return out, err
	}
	i.say("asking for a pass over every service, with nothing to change")
	out.Sync, err = i.phase(ctx, i.itself(), func(ctx context.Context) error {
		err := i.each(ctx, func(ctx context.Context, n int) error {
			_, err := i.people.API.Services.Sync(ctx, connect.NewRequest(&hubv1.SyncServiceRequest{Ref: people.ServiceRef(installCluster, installName(n))}))
			return err
		})
		return errors.Join(err, i.allHealthy(ctx), i.quiet(ctx, installUser, quiet))
	})
	return out, err
}

// measured are processes whose use of the machine and of the API server counts
// together: the agent, or a peer.
type measured struct {
	// user is whom the API server takes them for.
	user string
	// pids are the processes that run now.
	pids func() []int
	// tail is the end of their logs.
	tail func() string
}

// itself is the agent.
func (i *installation) itself() measured {
	return measured{installUser, func() []int { return []int{i.agent.Pid()} }, i.agent.Tail}
}

// usage is that of all processes together. Those that do not run count nothing.
func (m measured) usage() (sum procuse.Usage) {
	for _, pid := range m.pids() {
		if u, err := procuse.Of(pid); err == nil {
			sum.CPU, sum.RSS, sum.Children = sum.CPU+u.CPU, sum.RSS+u.RSS, sum.Children+u.Children
		}
	}
	return sum
}

// phase measures what processes take while do runs.
func (i *installation) phase(ctx context.Context, who measured, do func(context.Context) error) (p Phase, err error) {
	ctx, cancel := context.WithTimeout(ctx, i.Limit)
	defer cancel()
	cluster := i.World.Cluster(installCluster)
	mark, err := cluster.AuditMark()
	if err != nil {
		return p, err
	}
	before := who.usage() // nothing before their start
	began := time.Now()
	sampling, stop := context.WithCancel(ctx)
	var sampler sync.WaitGroup
	sampler.Go(func() {
		for jitter.Wait(sampling, 200*time.Millisecond) == nil {
			u := who.usage()
			p.RSS, p.ChildRSS = max(p.RSS, u.RSS), max(p.ChildRSS, u.Children)
		}
	})
	err = do(ctx)
	stop()
	sampler.Wait()
	if err != nil {
		return p, fmt.Errorf("%w; end of the log:\n%s", err, who.tail())
	}
	p.Seconds = time.Since(began).Seconds()
	if p.CPU = (who.usage().CPU - before.CPU).Seconds(); p.CPU < 0 {
		return p, fmt.Errorf("%s ended; end of the log:\n%s", who.user, who.tail())
	}
	events, err := cluster.AuditSince(mark)
	requests := events.ByUser(who.user).Requests()
	if p.Requests = len(requests); p.Requests > 0 && p.Requests <= fewRequests {
		for _, r := range requests {
			i.say("%s: %s %s", who.user, r.Verb, r.URI)
		}
	}
	return p, err
}

// lookEvery makes looking cost the same share of the machine at any size.
func (i *installation) lookEvery() time.Duration {
	return max(20*time.Millisecond, time.Duration(i.Services)*lookEach)
}

func (i *installation) allHealthy(ctx context.Context) error {
	told := time.Now()
	return eventually.WaitEvery(ctx, i.Limit, i.lookEvery(), func() error {
		services, err := i.people.Services(ctx)
		if err != nil {
			return err
		}
		ready := 0
		for _, one := range services {
			why := people.Healthy(one)
			if why == nil && !strings.HasPrefix(one.GetAppliedRevision(), i.revision) {
				why = fmt.Errorf("it has applied %s, not %s", one.GetAppliedRevision(), i.revision)
			}
			if why == nil {
				ready++
			} else {
				err = fmt.Errorf("%s: %w", one.GetName(), why)
			}
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			i.say("%d of %d services are healthy", ready, i.Services)
		}
		return err
	})
}

// quiet waits until a user has sent the API server nothing for a while.
func (i *installation) quiet(ctx context.Context, user string, while time.Duration) error {
	cluster := i.World.Cluster(installCluster)
	mark, err := cluster.AuditMark()
	if err != nil {
		return err
	}
	since := time.Now()
	return eventually.WaitEvery(ctx, i.Limit, i.lookEvery(), func() error {
		events, err := cluster.AuditSince(mark)
		if err != nil {
			return err
		}
		if sent := events.ByUser(user).Requests(); len(sent) > 0 {
			if mark, err = cluster.AuditMark(); err != nil {
				return err
			}
			since = time.Now()
		}
		if time.Since(since) < while {
			return fmt.Errorf("%s still sends requests", user)
		}
		return nil
	})
}

func installName(n int) string { return fmt.Sprintf("svc-%03d", n) }

// installApp is a service of four objects.
func installApp(n int) map[string]string {
	name := installName(n)
	files := people.App(name, fmt.Sprintf("hello-%d", n))
	files["apps/"+name+"/account.yaml"] = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: " + name + "\n"
	return files
}
