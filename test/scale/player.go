package scale

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/test/procuse"
)

// order is a line that a player process reads.
type order struct {
	// Do is register, start, stats, happen or stop.
	Do      string
	Cluster *PlayerConfig `json:",omitempty"`
	// Name and Namespace say where something happens.
	Name, Namespace string `json:",omitempty"`
}

// PlayerConfig says which clusters a player process plays.
type PlayerConfig struct {
	URL       string
	CAPEM     []byte
	Addresses []string
	Token     string
	// First and Count number the clusters.
	First, Count int
	// Interval is between polls, Spread the time over which they start.
	Interval, Spread time.Duration
	// Tunnels gives each cluster a tunnel, whose hints make it poll at once.
	Tunnels bool
	// Silent clusters have a tunnel and never poll.
	Silent bool
	// Watched clusters answer the hub's requests as watches.
	Watched bool
}

// played is a line that a player process writes.
type played struct {
	// What is registered, settled, took, stats or error.
	What string
	N    int `json:",omitempty"`
	// Digest and At, in microseconds, are of a tarball that replaced another.
	Digest string     `json:",omitempty"`
	At     int64      `json:",omitempty"`
	Stats  *PlayStats `json:",omitempty"`
	Text   string     `json:",omitempty"`
}

// PlayStats count what a player's clusters did since they started.
type PlayStats struct {
	Polls, Unchanged, Missed, Errors int64
	// PutOff are polls that the hub asked to repeat later, and when; the
	// client's own attempts come before.
	PutOff int64
	// IdleUp and IdleDown are the bytes of IdlePolls, in TLS records: polls that
	// found nothing, on a connection that was there.
	IdlePolls, IdleUp, IdleDown int64
	Tarballs, TarballBytes      int64
	Reported, Resyncs           int64
	Mismatches                  int64
	Settled                     int64
	CPUMicros                   int64
	// TunnelsUp are there now; Dials and Hints count.
	TunnelsUp, Dials, Hints int64
	// TunnelUp and TunnelDown are the bytes of all tunnels, in TLS records.
	TunnelUp, TunnelDown int64
}

func (s *PlayStats) add(o PlayStats) {
	s.Polls += o.Polls
	s.Unchanged += o.Unchanged
	s.Missed += o.Missed
	s.Errors += o.Errors
	s.PutOff += o.PutOff
	s.IdlePolls += o.IdlePolls
	s.IdleUp += o.IdleUp
	s.IdleDown += o.IdleDown
	s.Tarballs += o.Tarballs
	s.TarballBytes += o.TarballBytes
	s.Reported += o.Reported
	s.Resyncs += o.Resyncs
	s.Mismatches += o.Mismatches
	s.Settled += o.Settled
	s.CPUMicros += o.CPUMicros
	s.TunnelsUp += o.TunnelsUp
	s.Dials += o.Dials
	s.Hints += o.Hints
	s.TunnelUp += o.TunnelUp
	s.TunnelDown += o.TunnelDown
}

// player is one process that plays clusters for the fleet benchmark.
type player struct {
	cfg   PlayerConfig
	fleet *Fleet
	out   *json.Encoder
	outMu sync.Mutex

	missed, errors, putOff      atomic.Int64
	idlePolls, idleUp, idleDown atomic.Int64
	settled                     atomic.Int64
	tunnels                     tunnels
	group                       sync.WaitGroup
}

// mostErrors are written in words; all are counted.
const mostErrors = 20

// Play plays clusters as the lines of in order, until it ends. The fleet
// benchmark starts such processes.
func Play(ctx context.Context, in io.Reader, out io.Writer) error {
	// Its memory is not what is measured, its share of the processor is what
	// the hub lacks.
	debug.SetGCPercent(400)
	ctx, stop := context.WithCancel(ctx)
	p := &player{out: json.NewEncoder(out)}
	defer p.group.Wait()
	defer stop()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		switch o.Do {
		case "register":
			if err := p.register(ctx, *o.Cluster); err != nil {
				return err
			}
		case "start":
			for _, c := range p.fleet.Clusters() {
				p.group.Go(func() { p.live(ctx, c) })
			}
		case "stats":
			s := p.stats()
			p.tell(played{What: "stats", Stats: &s})
		case "happen":
			p.tunnels.happen(o.Name, o.Namespace)
		case "stop":
			return nil
		}
	}
	return lines.Err()
}

func (p *player) tell(line played) {
	p.outMu.Lock()
	defer p.outMu.Unlock()
	// A driver that is gone closes our input too, which ends this process.
	_ = p.out.Encode(line)
}

func (p *player) register(ctx context.Context, cfg PlayerConfig) error {
	p.cfg = cfg
	p.tunnels.player = p
	p.fleet = New(Config{
		URL: cfg.URL, CAPEM: cfg.CAPEM, Addresses: cfg.Addresses, First: cfg.First, OwnConnections: true, InMemory: true,
		Interval: cfg.Interval, Act: actPlayed, Took: p.took,
	})
	members := make([]Member, cfg.Count)
	for n := range members {
		members[n] = Member{Name: PlayedName(cfg.First + n), Token: cfg.Token}
	}
	err := p.fleet.JoinAll(ctx, members, func(done int) {
		if done%500 == 0 {
			p.tell(played{What: "progress", N: done})
		}
	})
	if err != nil {
		return err
	}
	for _, c := range p.fleet.Clusters() {
		c.transport.CloseIdleConnections()
		// The next connection is that of an agent that just started: whole.
		c.transport.TLSClientConfig.ClientSessionCache = nil
	}
	p.tell(played{What: "registered", N: cfg.Count})
	return nil
}

// PlayedName is the name that cluster number n of a player wants.
func PlayedName(n int) string { return fmt.Sprintf("edge-%05d", n) }

// took tells of a content that replaced another one.
func (p *player) took(digest string) {
	p.tell(played{What: "took", Digest: digest, At: time.Now().UnixMicro()})
}

// live is one cluster's life: a first poll within the spread, then one each
// interval with the agent's own jitter.
func (p *player) live(ctx context.Context, c *Cluster) {
	if jitter.Wait(ctx, jitter.Full(p.cfg.Spread)) != nil {
		return
	}
	if p.cfg.Silent {
		p.tunnels.keep(ctx, c)
		return
	}
	p.poll(ctx, c)
	if empty := c.Empty(); len(empty) > 0 && p.errors.Add(int64(len(empty))) <= mostErrors {
		// Its first content would count as no delivery.
		p.tell(played{What: "error", Text: fmt.Sprintf("%s: %v have no content", c.Name, empty)})
	}
	if n := p.settled.Add(1); n == int64(p.cfg.Count) {
		p.tell(played{What: "settled", N: int(n)})
	}
	var hints <-chan struct{}
	if p.cfg.Tunnels {
		hints = p.tunnels.keep(ctx, c)
	}
	for wait := jitter.Full(p.cfg.Interval); ; wait = jitter.Add(p.cfg.Interval, p.cfg.Interval/8) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-hints:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		p.poll(ctx, c)
	}
}

// poll passes once, again after an error as the agent does. A poll that was
// not answered within its interval is missed.
func (p *player) poll(ctx context.Context, c *Cluster) {
	began := time.Now()
	backoff := jitter.Backoff{Min: min(2*time.Second, p.cfg.Interval), Max: p.cfg.Interval}
	for {
		reported := c.reports.Load()
		changed, err := c.Pass(ctx)
		up, down, dialled := c.meter.since()
		if err == nil {
			if !changed && !dialled && reported == c.reports.Load() {
				p.idlePolls.Add(1)
				p.idleUp.Add(up)
				p.idleDown.Add(down)
			}
			break
		}
		if ctx.Err() != nil {
			return
		}
		if after := errcode.RetryAfter(err); hubclient.ReasonOf(err) == hubclient.Busy && after > 0 {
			p.putOff.Add(1)
			if jitter.Wait(ctx, jitter.Add(after, after)) != nil {
				return
			}
			continue
		}
		if p.errors.Add(1) <= mostErrors {
			p.tell(played{What: "error", Text: c.Name + ": " + err.Error()})
		}
		if jitter.Wait(ctx, backoff.Next()) != nil {
			return
		}
	}
	if time.Since(began) > p.cfg.Interval {
		p.missed.Add(1)
	}
}

func (p *player) stats() PlayStats {
	f := p.fleet.Stats()
	return PlayStats{
		Polls: f.Polls, Unchanged: f.Unchanged, Missed: p.missed.Load(), Errors: p.errors.Load(), PutOff: p.putOff.Load(),
		IdlePolls: p.idlePolls.Load(), IdleUp: p.idleUp.Load(), IdleDown: p.idleDown.Load(),
		Tarballs: f.Tarballs, TarballBytes: f.TarballBytes, Reported: f.ReportedServices, Resyncs: f.Resyncs,
		Mismatches: f.Mismatches, Settled: p.settled.Load(), CPUMicros: procuse.Own().Microseconds(),
		TunnelsUp: p.tunnels.up(), Dials: p.tunnels.meter.dials.Load(), Hints: p.tunnels.hints.Load(),
		TunnelUp: p.tunnels.meter.up.Load(), TunnelDown: p.tunnels.meter.down.Load(),
	}
}

// actPlayed applies everything at once, with the components that were packed
// when the content was seen first.
func actPlayed(s Seen) *agentv1.ServiceStatus {
	if s.Content == nil {
		return Healthy(s)
	}
	status := &agentv1.ServiceStatus{
		Sync: "Synced", Health: "Healthy", SpecDigest: s.Spec.GetSpecDigest(), TarballDigest: s.Content.Digest.String(),
		Revision: s.Spec.GetDisplay().GetRevision(), SourceRevision: s.Spec.GetDisplay().GetSourceRevision(), AppliedAt: s.At.UnixMicro(),
	}
	status.Components, status.Counts = s.Content.packed, s.Content.counts
	return status
}
