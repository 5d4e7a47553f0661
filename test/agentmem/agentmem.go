// Package agentmem measures an agent's memory with objects of a real size: 4 to
// 6 KiB each as the API server has them, managedFields included, of kinds that
// are judged and of kinds that are watched by their metadata alone. `dev bench
// agent-memory` calls it. The agent, its hub and its API server are processes;
// nothing runs the objects, so that none of a Deployment's Pods are counted.
//
// It does not measure render children, whose memory `dev bench render` bounds,
// nor time: no other benchmark has as many objects, and the machine is busy
// making them.
//
// Invariant: a number is the kernel's own, of the agent's process: its present
// resident memory, or the most since its start or since the phase began.
package agentmem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/test/world"
)

const (
	cluster = "memory"
	// look is how often the hub is asked how far the agent is.
	look = 2 * time.Second
	// settle is Config.Settle by default.
	settle = 90 * time.Second
)

// Config says what to measure. Services, Objects, Limit and Progress are required.
type Config struct {
	// Services of Objects each.
	Services, Objects int
	// Limit bounds the installation.
	Limit time.Duration
	// Flags are more flags of the agent.
	Flags []string
	// Settle is how long nothing happens before the idle memory counts; zero is 90 s.
	Settle   time.Duration
	Progress func(format string, args ...any)
}

// Result is what the agent took, in MiB. Installed is the most while it
// installed, Idle what it has after a minute and a half in which nothing
// happened; Restarted and RestartedIdle are those of an agent that found all of
// it in the cluster.
type Result struct {
	Objects                                   int
	ObjectBytes                               float64
	Installed, Idle, Restarted, RestartedIdle float64
	Seconds                                   float64
}

// Measure installs, waits, restarts and waits again.
func Measure(ctx context.Context, c Config) (r Result, err error) {
	w, err := world.Start(ctx, world.Config{Clusters: []string{cluster}, Hub: []string{"--repo-poll-interval", "10s", "--log-level", "warn"}, Progress: c.Progress})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	m := &measurement{Config: c, world: w}
	if err := m.declare(ctx); err != nil {
		return r, err
	}
	r.Objects = c.Services * c.Objects
	began := time.Now()
	if r.Installed, r.Idle, err = m.phase(ctx); err != nil {
		return r, err
	}
	r.Seconds = time.Since(began).Seconds()
	if r.ObjectBytes, err = m.size(ctx); err != nil {
		return r, err
	}
	if err := errors.Join(m.agent.Kill(), m.agent.Start()); err != nil {
		return r, err
	}
	r.Restarted, r.RestartedIdle, err = m.phase(ctx)
	return r, err
}

type measurement struct {
	Config
	world *world.World
	agent *world.Agent
}

// declare makes the repository, the agent and its services.
func (m *measurement) declare(ctx context.Context) (err error) {
	w := m.world
	if err := errors.Join(w.Login(ctx), w.Git.Create(ctx, "fleet")); err != nil {
		return err
	}
	files := map[string]string{}
	for n := range m.Services {
		maps.Copy(files, service(n, m.Objects))
	}
	if _, err := w.Git.Commit(ctx, "fleet", "main", "begin", files); err != nil {
		return err
	}
	if _, err := w.Axle(ctx, "repos", "add", "fleet", w.Git.URL("fleet")); err != nil {
		return err
	}
	if _, err := w.Kubectl(ctx, cluster, "create", "namespace", "axle-system"); err != nil {
		return err
	}
	if m.agent, err = w.ConnectProcess(ctx, cluster, world.AgentOptions{Flags: append([]string{"--poll-interval", "10s"}, m.Flags...)}); err != nil {
		return err
	}
	for n := range m.Services {
		if _, err := w.Axle(ctx, "services", "create", cluster+"/"+serviceName(n), "--repo", "fleet", "--ref", "main", "--folder", serviceName(n)); err != nil {
			return err
		}
	}
	return nil
}

// phase waits until everything is applied, and then until the agent is idle.
func (m *measurement) phase(ctx context.Context) (most, idle float64, err error) {
	said := time.Now()
	err = eventually.WaitEvery(ctx, m.Limit, look, func() error {
		if m.agent.Ended() {
			return fmt.Errorf("the agent ended: %s", m.agent.Tail())
		}
		services, err := m.world.Services(ctx)
		if err != nil {
			return err
		}
		synced := 0
		for _, s := range services {
			if s.Sync == "Synced" && s.Freshness == "Fresh" {
				synced++
			} else {
				err = fmt.Errorf("%s: %s", s.Name, s.Text())
			}
		}
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			now, _ := m.memory("VmRSS")
			m.Progress("%d of %d services are there, the agent has %.0f MiB", synced, m.Services, now)
		}
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	for end := time.Now().Add(cmp.Or(m.Settle, settle)); time.Now().Before(end); {
		if err := jitter.Wait(ctx, look); err != nil {
			return 0, 0, err
		}
	}
	most, err = m.memory("VmHWM")
	if err != nil {
		return 0, 0, err
	}
	idle, err = m.memory("VmRSS")
	m.Progress("the agent has %.1f MiB, %.1f at most", idle, most)
	return most, idle, err
}

// memory reads one of the agent's numbers, in MiB.
func (m *measurement) memory(name string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.agent.Pid()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("the kernel does not say %s", name)
}
