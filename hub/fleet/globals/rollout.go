package globals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// restless is how often rollouts are looked at while one runs, and resting how
	// often otherwise; a change of a global service is seen at once.
	restless = fanout.DefaultTick
	resting  = 10 * time.Minute
	// mostSteps bounds the transactions of one rollout in one turn.
	mostSteps = 100
)

// Freshness says whether the agent of a cluster polls; interval is its own, in
// microseconds.
type Freshness func(clusterID string, interval int64) fleet.Freshness

// Rollouts bring changed templates to their targets in waves: one fanout.Engine for
// each global service whose template is held. One replica at a time runs it.
type Rollouts struct {
	*Globals
	fresh Freshness
	wake  chan struct{}
}

// NewRollouts returns the rollouts of global services.
func NewRollouts(g *Globals, fresh Freshness) *Rollouts {
	return &Rollouts{g, fresh, make(chan struct{}, 1)}
}

var _ event.Subscriber = (*Rollouts)(nil)

// Rebuild implements event.Subscriber.
func (r *Rollouts) Rebuild(context.Context) error {
	r.Wake()
	return nil
}

// Apply implements event.Subscriber.
func (r *Rollouts) Apply(_ context.Context, rows []event.Row) error {
	for _, row := range rows {
		if row.Kind == event.KindGlobal {
			r.Wake()
			break
		}
	}
	return nil
}

// Wake makes Run look at once.
func (r *Rollouts) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run works until the context ends. Failures are retried.
func (r *Rollouts) Run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		next, err := r.Turn(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			r.config.Log.Warn("a rollout of a global service failed and is tried again", logkey.Error, err)
			next = max(backoff.Next(), errcode.RetryAfter(err))
		default:
			backoff.Reset()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.config.Clock.After(jitter.Around(next, next/10)):
		case <-r.wake:
		}
	}
}

// Turn continues every rollout as far as it can, and returns when to look again.
// One that fails does not stop the others.
func (r *Rollouts) Turn(ctx context.Context) (time.Duration, error) {
	next := resting
	var failed []error
	for after := ""; ; {
		ids, err := r.config.Holds.Held(ctx, after, workBatch)
		if err != nil || len(ids) == 0 {
			return next, errors.Join(append(failed, err)...)
		}
		after = ids[len(ids)-1]
		for _, id := range ids {
			wait, err := r.continued(ctx, id)
			if err != nil {
				failed = append(failed, fmt.Errorf("global service %s: %w", id, err))
			}
			next = min(next, wait)
		}
	}
}

// continued takes the steps of one rollout that can be taken now.
func (r *Rollouts) continued(ctx context.Context, id string) (time.Duration, error) {
	v, err := r.config.Store.GlobalByID(ctx, id)
	if errcode.Is(err, errcode.NotFound) || err == nil && (v.Held == 0 || v.Plan == nil) {
		return resting, nil
	}
	if err != nil {
		return restless, err
	}
	engine, err := r.engine(v)
	if err != nil {
		return restless, err
	}
	last, err := r.config.Rollouts.LatestRollout(ctx, noun(v.Name))
	if errcode.Is(err, errcode.NotFound) || err == nil && last.Payload != v.payload() {
		last, err = r.start(ctx, v, engine)
	}
	if err != nil {
		return restless, err
	}
	if !last.Phase.Active() && last.Phase != fanout.Done {
		return resting, nil // it was aborted, and waits for another template
	}
	for range mostSteps {
		more, err := r.step(ctx, engine)
		if errors.Is(err, errSpent) {
			return time.Millisecond, nil
		}
		if err != nil {
			return restless, err
		}
		if !more {
			break
		}
	}
	if last, err = r.config.Rollouts.LatestRollout(ctx, noun(v.Name)); err != nil || last.Phase != fanout.Done {
		return min(restless, max(time.Second, last.Plan.Soak/4)), err
	}
	return resting, r.end(ctx, v)
}

func (r *Rollouts) engine(v Global) (*fanout.Engine, error) {
	return fanout.New(fanout.Config{
		Rollouts: r.config.Rollouts, Targets: r.config.Waves, Writer: r.config.Writer, Subject: subject{r, v, r.prepare()}, Clock: r.config.Clock, Log: r.config.Log,
	})
}

// errSpent says that the other rollouts have their turn.
var errSpent = errors.New("a slice of rendering is spent")

// step takes one step. What it has to place is known in its transaction only, which ends
// to render that, and begins again.
func (r *Rollouts) step(ctx context.Context, engine *fanout.Engine) (bool, error) {
	for try := 1; ; try++ {
		more, err := engine.Step(ctx)
		missing := new(unrendered)
		if !errors.As(err, &missing) || try == mostTries {
			return more, err
		}
		if whole, err := missing.render(ctx); err != nil {
			return false, err
		} else if !whole {
			return false, errSpent
		}
	}
}

// start begins the rollout of the present template, in place of one of another.
func (r *Rollouts) start(ctx context.Context, v Global, engine *fanout.Engine) (last fanout.Rollout, err error) {
	err = r.config.Writer.Write(ctx, func(ctx context.Context) (err error) {
		last, err = engine.Start(ctx, v.DeclaredBy, fanout.Request{
			Version: versionName(v.SpecVersion), Payload: v.payload(), Plan: *v.Plan,
			Previous: &fanout.Previous{Version: versionName(v.Held), Payload: payloadOf(v.ID, v.Held)},
		})
		if err != nil {
			return err
		}
		return r.config.Holds.ForgetRollouts(ctx, noun(v.Name), last.ID)
	})
	return last, err
}

// end lets all clusters have the template: those that came meanwhile get it now.
func (r *Rollouts) end(ctx context.Context, v Global) error {
	return r.config.Writer.Write(ctx, func(ctx context.Context) error {
		now, err := r.config.Store.GlobalByID(ctx, v.ID)
		if err != nil || now.Version != v.Version {
			return err // it was changed meanwhile, and is looked at again
		}
		if err := r.config.Holds.EndHold(ctx, v.ID); err != nil {
			return err
		}
		return r.compareAll(ctx, v.ID)
	})
}

// Latest returns the newest rollout of a global service with its clusters. NotFound
// when there was none.
func (r *Rollouts) Latest(ctx context.Context, name string) (fanout.Rollout, []fanout.Target, error) {
	last, err := r.config.Rollouts.LatestRollout(ctx, noun(name))
	if err != nil {
		return last, nil, err
	}
	targets, err := r.config.Waves.RolloutTargets(ctx, last.ID, nil)
	return last, targets, err
}

// PausedRollout is a rollout that waits for a person.
type PausedRollout struct {
	Name string
	fanout.Rollout
}

// Paused returns up to limit rollouts within reach that a person paused, or that
// stopped because too many clusters failed.
func (r *Rollouts) Paused(ctx context.Context, limit int, reach identity.Reach) (all []PausedRollout, err error) {
	ids, err := r.config.Holds.Held(ctx, "", workBatch)
	for _, id := range ids {
		if err != nil || len(all) == limit {
			break
		}
		v, err := r.config.Store.GlobalByID(ctx, id)
		if errcode.Is(err, errcode.NotFound) || err == nil && !reach.Covers(identity.Scope{Project: v.ProjectID}) {
			continue
		}
		if err != nil {
			return nil, err
		}
		last, err := r.config.Rollouts.LatestRollout(ctx, noun(v.Name))
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return nil, err
		}
		if last.Phase == fanout.Paused || last.Phase == fanout.Stopped {
			all = append(all, PausedRollout{v.Name, last})
		}
	}
	return all, err
}

// ClusterNames returns the names of the clusters of some targets, by id.
func (r *Rollouts) ClusterNames(ctx context.Context, targets []fanout.Target) (map[string]string, error) {
	ids := make([]string, len(targets))
	for i, t := range targets {
		ids[i] = t.ClusterID
	}
	clusters, err := r.config.Rows.ClustersByID(ctx, ids)
	names := make(map[string]string, len(clusters))
	for _, c := range clusters {
		names[c.ID] = c.Name
	}
	return names, err
}

// Command is what a person does to a rollout.
type Command func(*fanout.Engine, context.Context, string) (fanout.Rollout, error)

// Change pauses, resumes or aborts the rollout of a global service. NotFound for a
// global service that does not exist, Conflict when no rollout runs.
func (r *Rollouts) Change(ctx context.Context, by, name string, command Command) error {
	v, err := r.config.Store.GlobalByName(ctx, name)
	if err != nil {
		return err
	}
	engine, err := r.engine(v)
	if err == nil && v.Held == 0 {
		err = errcode.New(errcode.Conflict, "no rollout of %s runs", noun(name))
	}
	if err != nil {
		return err
	}
	return r.config.Writer.Write(ctx, func(ctx context.Context) error {
		if _, err := command(engine, ctx, by); err != nil {
			return err
		}
		return event.Append(ctx, event.Change{Kind: event.KindGlobal, Key: v.ID})
	})
}

// subject is a global service as hub/fanout rolls it out.
type subject struct {
	*Rollouts
	global Global
	ready  *prepared
}

var _ fanout.Subject = subject{}

// Name implements fanout.Subject.
func (s subject) Name() string { return noun(s.global.Name) }

// Members implements fanout.Subject: the clusters with a target.
func (s subject) Members(ctx context.Context, clusterIDs []string) ([]fanout.Member, error) {
	all, err := s.config.Holds.Reports(ctx, s.global.ID, clusterIDs)
	if err != nil {
		return nil, err
	}
	members := make([]fanout.Member, len(all))
	for i, t := range all {
		fresh := fleet.Stale
		if t.Registered {
			fresh = s.fresh(t.ClusterID, t.PollInterval)
		}
		if err := fanout.Known(fresh, t.PollInterval); err != nil {
			return nil, err
		}
		version := int64(0) // targets with specs of their own are always looked at
		if t.OwnerID == s.global.ID {
			version = t.SpecVersion
		}
		members[i] = fanout.Member{
			ClusterID: t.ClusterID, Name: t.Cluster, Payload: payloadOf(s.global.ID, version), Fresh: fresh == fleet.Fresh,
			Failing: t.Current && !t.Held && (t.Sync == fleet.Failed || t.Health == fleet.Degraded), ProjectID: t.ProjectID, Project: t.Project,
			Runs: func(name string) bool { return version > 0 && name == versionName(version) },
		}
	}
	return members, nil
}

// Place implements fanout.Subject.
func (s subject) Place(ctx context.Context, clusterIDs []string, payload string) (map[string]string, error) {
	v, err := s.config.Store.GlobalByID(ctx, s.global.ID)
	if err != nil {
		return nil, err
	}
	if payload != v.payload() {
		if payload != payloadOf(v.ID, v.Held) {
			return nil, errcode.New(errcode.Conflict, "%s was changed again; its rollout is replaced", noun(v.Name))
		}
		if v, err = s.held(ctx, v); err != nil {
			return nil, err
		}
	}
	clusters, err := s.config.Rows.ClustersByID(ctx, clusterIDs)
	if err != nil {
		return nil, err
	}
	failures, err := s.matchTo(ctx, part{global: v, clusters: clusters}, s.ready)
	refused := map[string]string{}
	for _, f := range failures {
		refused[f.ClusterID] = f.Message
	}
	return refused, err
}

// Judge implements fanout.Subject. A target is healthy if its agent reports that
// what is desired now is synced and healthy. One that a person paused or pinned is
// not judged.
func (s subject) Judge(ctx context.Context, _ string, clusterIDs []string) (map[string]fanout.Verdict, error) {
	all, err := s.config.Holds.Reports(ctx, s.global.ID, clusterIDs)
	if err != nil {
		return nil, err
	}
	verdicts := make(map[string]fanout.Verdict, len(all))
	for _, t := range all {
		verdicts[t.ClusterID] = t.verdict(s.fresh)
	}
	return verdicts, nil
}

func (t Report) verdict(fresh Freshness) fanout.Verdict {
	says := func(format string, args ...any) string { return t.Cluster + ": " + fmt.Sprintf(format, args...) }
	switch {
	case t.Held:
		return fanout.Verdict{Good: true}
	case t.Current && t.Sync == fleet.Failed:
		return fanout.Verdict{Failed: true, Message: says("%s", t.Message)}
	case fresh(t.ClusterID, t.PollInterval) != fleet.Fresh:
		return fanout.Verdict{Message: says("its agent does not poll")}
	case !t.Current:
		return fanout.Verdict{Message: says("its agent has not applied it yet")}
	case t.Sync == fleet.Synced && t.Health == fleet.Healthy:
		return fanout.Verdict{Good: true}
	}
	return fanout.Verdict{Message: says("%s and %s; %s", t.Sync, t.Health, t.Message)}
}
