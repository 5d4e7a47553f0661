package poll

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/axle-cd/axle/agent/poll/queue"
	"github.com/axle-cd/axle/agent/poll/report"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

// Loop is the agent's loop. Its methods are safe for concurrent use and do not block.
type Loop struct {
	config  Config
	metrics *metrics
	report  *report.Reporter

	pollNow chan struct{}
	work    chan struct{}
	refresh chan struct{}

	mu       sync.Mutex
	services map[string]*service
	// named holds the services by name, because dependencies are by name.
	named map[string]map[string]*service
	queue queue.Queue
	// running are the passes that run, by project.
	running *pool.Places
	loaded  bool // the inventories have been read
	away    error
	list    *agentv1.Desired
	etag    string
	deletes Hold
	// listedAt is when a poll returned list; zero means that it was read from the
	// disk.
	listedAt time.Time
	// specsComing: a list was accepted, and the specs that it names as new are being
	// requested.
	specsComing bool
	// lists counts accepted lists. sweepDue: trees and services may be left over that
	// the list no longer needs, but that passes needed when it arrived.
	lists    uint64
	sweepDue bool
	// refreshedAt is when the trees were last checked, lookedAt when the inventories were.
	refreshedAt, lookedAt time.Time
	// listDeletes is what deletes waited for when list was accepted.
	listDeletes Hold
	polls       int
	status      Status
	facts       *Facts
	factsAt     time.Time
	settings    Settings
	// gated are the ids of services that wait for a dependency, by the names of
	// everything that they depend on.
	gated map[string]map[string]bool
	// awaiting are services whose deletes wait for other services.
	awaiting map[string]bool
	// allSettled: with the renderer settledBy no service was unsettled, and nothing
	// arrived since that could be.
	allSettled bool
	settledBy  string
	// appliedChanged: the names of the applied revisions must be stored.
	appliedChanged bool
	// appliedAt is when they were last stored.
	appliedAt time.Time

	// remembering guards Config.Remembered and its file.
	remembering sync.Mutex

	// hints come from watches, which must not wait for mu.
	hints *hints
}

// Status is the state of the loop, for /healthz and metrics.
type Status struct {
	// PolledAt is the time of the last answered poll.
	PolledAt time.Time
	// Err is why the last poll was rejected; nil if it was accepted.
	Err error
	// Loaded: the cluster's inventories have been read.
	Loaded bool
	// Services counts the services of the list.
	Services int
	// Duplicate: the hub reports that another agent uses this identity.
	Duplicate bool
}

// New returns a Loop that continues from the remembered state.
func New(cfg Config) (*Loop, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	l := &Loop{
		config: cfg, services: map[string]*service{}, named: map[string]map[string]*service{}, gated: map[string]map[string]bool{}, awaiting: map[string]bool{},
		pollNow: make(chan struct{}, 1), work: make(chan struct{}, 1), refresh: make(chan struct{}, 1),
		etag: cfg.Remembered.ETag, deletes: Hold(cfg.Remembered.Deletes),
		hints:   newHints(),
		running: cfg.Pools.Places(pool.Spec{Name: "passes", Of: "passes of services", Size: passPlaces(0)}),
	}
	l.metrics = newMetrics(cfg.Registerer, l)
	l.report = l.newReporter()
	specs, err := cfg.Cache.Specs()
	if err != nil {
		return nil, err
	}
	for id, spec := range specs {
		s := l.ensure(id)
		s.specify(spec)
		l.call(s, spec.GetName(), spec.GetNamespace())
		s.diffed = spec.GetDiffRequest()
	}
	l.tellSpecs()
	for id, applied := range cfg.Cache.Applied() {
		if s := l.services[id]; s != nil {
			s.applied = applied
		}
	}
	if cfg.List == nil {
		l.etag = ""
	} else {
		l.sweepDue = l.acceptEntries(cfg.List)
	}
	return l, nil
}

// Run polls, works and reports until the context ends.
func (l *Loop) Run(ctx context.Context) error {
	return lifecycle.Run(ctx,
		lifecycle.Part{Name: "polls", Run: l.runPolls},
		lifecycle.Part{Name: "passes", Run: l.runPasses},
		lifecycle.Part{Name: "reports", Run: l.report.Run},
		lifecycle.Part{Name: "full downloads", Run: l.runRefresh},
		lifecycle.Part{Name: "hints", Run: l.runHints})
}

// Poke polls now.
func (l *Loop) Poke() { poke(l.pollNow) }

// State returns the state of the loop.
func (l *Loop) State() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.status
	s.Loaded = l.loaded
	s.Services = len(l.list.GetServices())
	return s
}

// Project returns the project of a service, empty for one that is not known.
func (l *Loop) Project(id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.services[id]; s != nil {
		return s.Project
	}
	return ""
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// runPolls polls at the interval with jitter, and after failures with back-off.
func (l *Loop) runPolls(ctx context.Context) error {
	wait := jitter.Full(min(l.config.Interval, firstPollSpread))
	if l.config.Fresh {
		wait = 0
	}
	backoff := jitter.Backoff{Min: min(2*time.Second, l.config.Interval), Max: l.config.Interval}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.config.Clock.After(wait):
		case <-l.pollNow:
			if !l.rested(ctx) {
				return nil
			}
		}
		err := l.pollOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			wait = max(backoff.Next(), errcode.RetryAfter(err))
		default:
			backoff.Reset()
			interval := l.interval()
			wait = jitter.Add(interval, interval/8)
		}
	}
}

// rested waits until the next early poll is allowed. That poll also serves requests
// that arrive while waiting.
func (l *Loop) rested(ctx context.Context) bool {
	if rest := l.rest(); rest > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-l.config.Clock.After(rest):
		}
	}
	select {
	case <-l.pollNow:
	default:
	}
	return true
}

// rest is how long hints wait after a list. Accepting a list costs in proportion to
// the number of services, and a person or pipeline that changes services one by one
// causes a list for each. The first change never waits, and with few services none
// does.
func (l *Loop) rest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	services := len(l.list.GetServices())
	if services <= restFrom || l.listedAt.IsZero() {
		return 0
	}
	return l.listedAt.Add(time.Duration(services) * listRest).Sub(l.config.Clock.Now())
}

func (l *Loop) interval() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := cmp.Or(l.settings.Interval, time.Duration(l.list.GetPollIntervalMicros())*time.Microsecond)
	if told > 0 && !l.config.Fixed {
		return max(told, MinInterval)
	}
	return l.config.Interval
}

// pollOnce is one poll. If nothing changed, its cost does not depend on the number of
// services.
func (l *Loop) pollOnce(ctx context.Context) error {
	l.mu.Lock()
	etag := l.etag
	l.mu.Unlock()
	answer, err := l.config.Hub.Desired(ctx, etag)
	l.polled(ctx, answer, err)
	if err != nil {
		return err
	}
	if answer.List != nil {
		l.takeList(answer)
	}
	tellFormer(ctx, l)
	l.fetchSpecs(ctx)
	l.queueChanged()
	l.queueReads()
	l.lookAgain(ctx)
	l.report.Compare(answer.StatusHash)
	l.ping(ctx)
	if l.refreshDue() {
		l.dropDue()
		poke(l.refresh)
	}
	return nil
}

// polled records the result of a poll. A repeated failure is logged once.
func (l *Loop) polled(ctx context.Context, answer Answer, err error) {
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	before := l.status.Err
	l.status.Err = err
	if err == nil {
		l.status.PolledAt = l.config.Clock.Now()
		l.polls++
	}
	l.mu.Unlock()
	switch {
	case err != nil:
		l.metrics.polls.WithLabelValues("held").Inc()
		if before == nil || before.Error() != err.Error() {
			l.config.Log.Warn("the hub's answer is rejected; everything stays as it is", logkey.Reason, err.Error())
		}
	case before != nil:
		l.config.Log.Info("the hub answers again")
		fallthrough
	default:
		if answer.List != nil {
			l.metrics.polls.WithLabelValues("changed").Inc()
		} else {
			l.metrics.polls.WithLabelValues("unchanged").Inc()
		}
	}
}

// ping reports the cluster to the hub: at the start, when it changed and every 2 h.
// Facts cost requests to the API server and are read only then.
func (l *Loop) ping(ctx context.Context) {
	now := l.config.Clock.Now()
	l.mu.Lock()
	due := l.loaded && (l.facts == nil || now.Sub(l.factsAt) >= cmp.Or(l.settings.Whole, report.WholePeriod))
	l.mu.Unlock()
	if !due {
		return
	}
	facts, err := l.config.Cluster.Facts(ctx)
	if err != nil {
		l.config.Log.Debug("cannot read the facts about the cluster", logkey.Error, err)
		return
	}
	err = l.config.Hub.Ping(ctx, &agentv1.PingRequest{
		BootId: l.config.BootID, AgentVersion: l.config.AgentVersion, KubernetesVersion: facts.KubernetesVersion, Distro: facts.Distro,
		Nodes: int32(facts.Nodes), PollIntervalMicros: l.interval().Microseconds(), ProtocolVersion: protocolVersion,
		Installation: l.config.Installation,
	})
	l.noteDuplicate(err)
	if err != nil {
		l.config.Log.Debug("the hub did not accept the facts about the cluster", logkey.Error, err)
		return
	}
	l.mu.Lock()
	l.facts, l.factsAt = &facts, now
	l.mu.Unlock()
}

// protocolVersion is the version number of api/agent/v1.
const protocolVersion = 2

// noteDuplicate records the hub's answer that another agent uses this identity.
func (l *Loop) noteDuplicate(err error) {
	duplicate := errcode.Is(err, errcode.Conflict)
	l.mu.Lock()
	before := l.status.Duplicate
	if duplicate || err == nil {
		l.status.Duplicate = duplicate
	}
	l.mu.Unlock()
	if duplicate && !before {
		l.config.Log.Error("another agent uses this cluster's identity; stop one of them, or register this cluster again", logkey.Error, err)
	}
}

func (l *Loop) ensure(id string) *service {
	s := l.services[id]
	if s == nil {
		s = newService(id, &l.queue)
		l.services[id] = s
	}
	return s
}

// call sets the name of a service.
func (l *Loop) call(s *service, name, namespace string) {
	if s.name != name || l.named[name][s.Id] == nil {
		l.unname(s)
		if l.named[name] == nil {
			l.named[name] = map[string]*service{}
		}
		l.named[name][s.Id] = s
	}
	s.name, s.namespace = name, namespace
}

func (l *Loop) unname(s *service) {
	delete(l.named[s.name], s.Id)
	if len(l.named[s.name]) == 0 {
		delete(l.named, s.name)
	}
}

// forget drops a service that is no longer needed.
func (l *Loop) forget(s *service) {
	l.queue.Forget(&s.Entry)
	l.unname(s)
	l.ungate(s)
	delete(l.awaiting, s.Id)
	l.config.Claims.Unclaim(s.Id)
	delete(l.services, s.Id)
}
