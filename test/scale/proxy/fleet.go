package proxy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/procuse"
	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/hubproc"
	"github.com/axle-cd/axle/test/scale/people"
)

const (
	// idleSpread is the time over which each idle agent comes.
	idleSpread = 10 * time.Millisecond
	// reconnectWithin bounds the wait for all agents after a crash.
	reconnectWithin = 3 * time.Minute
)

// IdleAgents is what idle agents cost the hub. What is nil was not measured.
type IdleAgents struct {
	BytesPerAgent *float64 `json:"idle_bytes_per_hour_per_agent"`
	// Reconnect is from the kill of the hub until it has all tunnels again, in
	// seconds; ReconnectCPU is what the new process took until then.
	Reconnect    *float64 `json:"reconnect_1000_s"`
	ReconnectCPU *float64 `json:"reconnect_cpu_s"`
	// ReadyAgain is the part of Reconnect until the hub answers again.
	ReadyAgain *float64 `json:"reconnect_hub_ready_s"`
	Agents     int      `json:"idle_agents"`
}

// proxyFleet is a hub whose agents are played.
type proxyFleet struct {
	*proxyBench
	hubs   *hubproc.Replicas
	people *people.People
}

// fleet measures idle agents, a crash of their hub, and many watches.
func (b *proxyBench) fleet(ctx context.Context) (err error) {
	if b.Agents == 0 && b.WatchesOver == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "axle-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := bin.Path(ctx, "axle-hub", bin.Options{})
	if err != nil {
		return err
	}
	f := &proxyFleet{proxyBench: b}
	if f.hubs, err = hubproc.Start(ctx, hubproc.Config{Dir: dir, Program: program}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.hubs.Close()) }()
	if f.people, err = people.SetUp(ctx, people.Hub{URL: f.hubs.URL(), CAPEM: f.hubs.CA()}, f.hubs.SetupTokenFile()); err != nil {
		return err
	}
	if b.Agents > 0 {
		if err := f.idleAgents(ctx); err != nil {
			return fmt.Errorf("idle agents: %w", err)
		}
	}
	if b.WatchesOver > 0 {
		if err := f.manyWatches(ctx); err != nil {
			return fmt.Errorf("many watches: %w", err)
		}
	}
	return nil
}

// play starts agents that have tunnels and poll nothing.
func (f *proxyFleet) play(ctx context.Context, first, count int, watched bool) (*scale.Players, error) {
	return scale.StartPlayers(ctx, f.Player, scale.PlayerConfig{
		URL: f.hubs.URL(), CAPEM: f.hubs.CA(), Addresses: f.hubs.Addresses(), First: first, Count: count,
		Interval: time.Hour, Spread: time.Duration(count) * idleSpread, Tunnels: true, Silent: true, Watched: watched,
	}, f.people.Bootstrap, f.Progress)
}

// awaitTunnels waits until all are up at both ends.
func (f *proxyFleet) awaitTunnels(ctx context.Context, p *scale.Players, agents, here int) error {
	return eventually.Wait(ctx, reconnectWithin, func() error {
		if err := f.hubs.Alive(); err != nil {
			return err
		}
		s, err := p.Stats(ctx)
		if err != nil {
			return err
		}
		if s.TunnelsUp != int64(agents) {
			return fmt.Errorf("%d of %d tunnels are up", s.TunnelsUp, agents)
		}
		all, err := f.hubs.Metrics(ctx)
		if err == nil && all["axle_tunnel_up"] != float64(here) {
			err = fmt.Errorf("the hub has %.0f of %d tunnels", all["axle_tunnel_up"], here)
		}
		return err
	})
}

// settled is the hub's memory once its garbage is gone.
func (f *proxyFleet) settled(ctx context.Context) (int64, error) {
	return settledMemory(ctx, f.Window/20, f.hubs.Pid(0), func() error { return f.hubs.Collect(ctx, 0) })
}

// idleAgents measures agents with a tunnel that nobody uses, and their way back
// after a crash of the hub.
func (f *proxyFleet) idleAgents(ctx context.Context) (err error) {
	f.Progress("%d agents register", f.Agents)
	p, err := f.play(ctx, 0, f.Agents, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	before, err := f.settled(ctx)
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	if err := f.awaitTunnels(ctx, p, f.Agents, f.Agents); err != nil {
		return err
	}
	f.Progress("%d tunnels are up", f.Agents)
	after, err := f.settled(ctx)
	if err != nil {
		return err
	}
	f.result.RSSPerAgent = new(float64(after-before) / 1024 / float64(f.Agents))
	begin, err := p.Stats(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := pauseFor(ctx, f.Window); err != nil {
		return err
	}
	end, err := p.Stats(ctx)
	if err != nil {
		return err
	}
	moved := float64(end.TunnelUp + end.TunnelDown - begin.TunnelUp - begin.TunnelDown)
	f.result.BytesPerAgent = new(moved / float64(f.Agents) * 3600 / time.Since(began).Seconds())
	f.result.IdleAgents.Agents = f.Agents
	return f.crash(ctx, p)
}

// crash kills the hub, starts it again at once and waits for all agents.
func (f *proxyFleet) crash(ctx context.Context, p *scale.Players) error {
	f.Progress("the hub of %d tunnels is killed", f.Agents)
	began := time.Now()
	if err := f.hubs.Kill(0); err != nil {
		return err
	}
	if err := f.hubs.Again(ctx, 0); err != nil {
		return err
	}
	f.result.ReadyAgain = new(time.Since(began).Seconds())
	if err := f.awaitTunnels(ctx, p, f.Agents, f.Agents); err != nil {
		return err
	}
	f.result.Reconnect = new(time.Since(began).Seconds())
	u, err := procuse.Of(f.hubs.Pid(0))
	f.result.ReconnectCPU = new(u.CPU.Seconds())
	return err
}
