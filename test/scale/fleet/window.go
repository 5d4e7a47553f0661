package fleet

import (
	"context"
	"time"

	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/promtext"
	"github.com/axle-cd/axle/test/scale"
)

// steadyTime is the part of the window's end whose memory is its steady one.
const steadyTime = 30 * time.Second

// reading is what the counters say at one time.
type reading struct {
	at      time.Time
	hub, db time.Duration
	fleet   scale.PlayStats
	metrics map[string]float64
}

func (b *benching) read(ctx context.Context) (r reading, err error) {
	if r.fleet, err = b.players.Stats(ctx); err != nil {
		return r, err
	}
	if r.metrics, err = b.hubs.Metrics(ctx); err != nil {
		return r, err
	}
	r.at, r.hub, r.db = time.Now(), b.hubs.Usage(), b.hubs.DatabaseCPU()
	return r, nil
}

// beside takes steps while Beside runs.
func (b *benching) beside(steps ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, 1)
		go func() {
			if b.Beside == nil {
				ended <- nil
				return
			}
			ended <- b.Beside(watching, b.hubs)
		}()
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		stop()
		return <-ended
	}
}

// window is what is measured: polls at their interval, and the commits.
func (b *benching) window(ctx context.Context) error {
	begin, err := b.read(ctx)
	if err != nil {
		return err
	}
	b.Progress("the window of %s begins", b.Duration)
	end := begin.at.Add(b.Duration)
	commit, tell, kill := begin.at, begin.at.Add(15*time.Second), begin.at.Add(b.Duration/2)
	for time.Now().Before(end) {
		if b.Commits > 0 && !time.Now().Before(commit) {
			commit = commit.Add(b.Commits)
			if err := b.commit(ctx); err != nil {
				return err
			}
		}
		if b.Kill && b.Replicas > 1 && time.Now().After(kill) {
			b.Kill = false
			if err := b.crash(ctx); err != nil {
				return err
			}
		}
		if time.Now().After(tell) {
			tell = tell.Add(15 * time.Second)
			b.Progress("%.0f s: hubs %.3f cores, %d commits", time.Since(begin.at).Seconds(),
				(b.hubs.Usage()-begin.hub).Seconds()/time.Since(begin.at).Seconds(), b.commits)
		}
		if err := b.pause(ctx, min(250*time.Millisecond, time.Until(end))); err != nil {
			return err
		}
	}
	now, err := b.read(ctx)
	if err != nil {
		return err
	}
	b.count(begin, now)
	return nil
}

// count fills the result from two readings.
func (b *benching) count(begin, end reading) {
	r, wall := &b.result, end.at.Sub(begin.at).Seconds()
	r.Clusters, r.Services, r.Replicas, r.WindowSeconds = b.Clusters, b.Services, b.Replicas, wall
	r.HubCores = (end.hub - begin.hub).Seconds() / wall
	r.DBCores = (end.db - begin.db).Seconds() / wall
	r.FleetCores = float64(end.fleet.CPUMicros-begin.fleet.CPUMicros) / 1e6 / wall
	r.HubRSSMB = b.hubs.Peak()
	r.HubRSSMBSteady, r.Memory = b.hubs.Held(steadyTime), b.hubs.MemoryTimes()
	r.HubHeapMB = end.metrics["go_memstats_heap_inuse_bytes"] / 1e6
	r.HubStacksMB = end.metrics["go_memstats_stack_inuse_bytes"] / 1e6
	r.HubFiles = b.hubs.Files()
	r.Polls = end.fleet.Polls - begin.fleet.Polls
	r.PollsMissed = end.fleet.Missed - begin.fleet.Missed
	// Polls under way at either end may be counted on one side alone.
	r.NotModifiedRatio = min(1, ratioOf(end.fleet.Unchanged-begin.fleet.Unchanged, r.Polls))
	idle := end.fleet.IdlePolls - begin.fleet.IdlePolls
	r.BytesUpPerPoll = ratioOf(end.fleet.IdleUp-begin.fleet.IdleUp, idle)
	r.BytesDownPerPoll = ratioOf(end.fleet.IdleDown-begin.fleet.IdleDown, idle)
	r.TarballsServed = end.fleet.Tarballs - begin.fleet.Tarballs
	r.UpstreamFetches = b.fetches(begin.at, end.at)
	if r.Tunnels = end.fleet.TunnelsUp; r.Tunnels > 0 {
		moved := end.fleet.TunnelUp + end.fleet.TunnelDown - begin.fleet.TunnelUp - begin.fleet.TunnelDown
		r.TunnelBytesPerHour = float64(moved) / float64(r.Tunnels) * 3600 / wall
		r.TunnelHints = end.fleet.Hints - begin.fleet.Hints
	}
	r.FeedLagP99Millis = 1000 * promtext.Quantile(begin.metrics, end.metrics, "axle_feed_apply_seconds", 0.99)
	b.Progress("the window ends: %d polls, hubs %.3f cores, fleet %.3f", r.Polls, r.HubCores, r.FleetCores)
}

func ratioOf(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// fetches counts those of the Git server's log between two times.
func (b *benching) fetches(from, to time.Time) (n int) {
	for _, e := range b.git.Log("") {
		if e.Kind == gitserver.Fetch && !e.Start.Before(from) && !e.Start.After(to) {
			n++
		}
	}
	return n
}

// lsRefsPerInterval is how often a repository's refs were asked for in an
// interval of its polling (the base and half of the spread), from the gaps
// between the polls since a time. What git itself asks when it fetches is no
// poll.
func (b *benching) lsRefsPerInterval(from time.Time) float64 {
	var gaps time.Duration
	n := 0
	for r := range benchRepositories {
		log := b.git.Log(place{repository: r}.repo())
		var last time.Time
		for i, e := range log {
			ofFetch := i+1 < len(log) && log[i+1].Kind == gitserver.Fetch && log[i+1].Start.Sub(e.Start) < 2*time.Second
			if e.Kind != gitserver.LsRefs || ofFetch || e.Start.Before(from) {
				continue
			}
			if !last.IsZero() {
				gaps += e.Start.Sub(last)
				n++
			}
			last = e.Start
		}
	}
	if n == 0 {
		return 0
	}
	return (b.Poll + b.Poll/4).Seconds() * float64(n) / gaps.Seconds()
}

// crash kills a replica and waits until others own its repositories.
func (b *benching) crash(ctx context.Context) error {
	victim := b.hubs.Name(b.Replicas - 1)
	owned, err := b.ownedOf(ctx, victim)
	if err != nil {
		return err
	}
	if err := b.hubs.Kill(b.Replicas - 1); err != nil {
		return err
	}
	at := time.Now()
	b.Progress("%s is killed; it owned %d repositories", victim, len(owned))
	go b.watchOwners(ctx, victim, owned, at)
	return nil
}

// watchOwners notes when the last of some repositories has another owner.
func (b *benching) watchOwners(ctx context.Context, victim string, owned []string, at time.Time) {
	for time.Since(at) < 2*time.Minute {
		left, err := b.ownedBy(ctx, victim, owned)
		if err == nil && left == 0 {
			b.owned <- time.Since(at)
			return
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
	b.owned <- time.Since(at)
}
