package watch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// MaxTopics is how many objects a stream watches at most.
	MaxTopics = 1000
	// maxStreams limits the streams of a caller, maxAll those of a replica, of which the
	// last forAdmins are for administrators.
	maxStreams = 20
	maxAll     = 2000
	forAdmins  = 200
	// between is the least time between two batches, heartbeat the most.
	between   = 250 * time.Millisecond
	heartbeat = 15 * time.Second
	// lookEvery is how often tokens are checked, compareEvery how often freshness and
	// tunnels are compared, and pollsEvery how often new times of polls are told.
	lookEvery    = time.Second
	compareEvery = 5
	pollsEvery   = 30
)

// Errors that end a stream, or do not begin it.
var (
	// ErrTooOld means that nobody knows what changed since the resume token.
	ErrTooOld = errors.New("the resume token is too old; read the lists again, and watch from their resume token")
	// ErrClosed ends a stream that its reader closed.
	ErrClosed   = errors.New("the stream is closed")
	errStopping = errcode.New(errcode.Unavailable, "the hub is stopping; connect again").After(time.Second)
	errEnded    = errcode.New(errcode.Unauthorized, "the token was revoked or has expired; log in again")
	errNone     = errcode.New(errcode.NotFound, "this replica does not hold the stream; open Watch again with the topics")
)

// Index is what the streams are about.
type Index interface {
	// ServicesByID and ClustersByID return those that are within reach.
	ServicesByID(ids []string, reach identity.Reach) ([]string, error)
	ClustersByID(ids []string, reach identity.Reach) ([]index.ClusterHit, error)
	// Moments returns what freshness and tunnel clusters have now.
	Moments() map[string]index.Moment
	// ClustersOf returns the clusters of services, by service id; ServicesOf the services
	// of clusters.
	ClustersOf(services []string) map[string]string
	ServicesOf(clusters map[string]bool) []string
	// MatchServices and MatchClusters return those of the ids that are within reach and
	// match, of all when ids is nil.
	MatchServices(f index.ServiceFilter, ids []string, reach identity.Reach) ([]string, error)
	MatchClusters(f index.ClusterFilter, ids []string, reach identity.Reach) ([]index.ClusterHit, error)
}

// Feed is the position of this replica.
type Feed interface {
	Position() event.Position
	WaitFor(ctx context.Context, p event.Position) error
}

// Identity knows callers.
type Identity interface {
	Caller(ctx context.Context, tokenID string) (identity.Principal, error)
	Reach(ctx context.Context, p identity.Principal, action identity.Action) (identity.Reach, error)
}

// Config configures Streams. All fields but Pools are required.
type Config struct {
	Index    Index
	Feed     Feed
	Identity Identity
	Clock    clock.Clock
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
}

// Topics are what a stream watches.
type Topics struct {
	Services, Clusters, Hints []string
	// ServiceList and ClusterList are lists whose rows are watched; nil is none.
	ServiceList *index.ServiceFilter
	ClusterList *index.ClusterFilter
}

// Streams are the open streams of a replica.
type Streams struct {
	config Config
	// streams are the places for streams, rows those for what their lists hold.
	streams, rows *pool.Places

	mu      sync.Mutex
	all     map[string]*Stream
	stopped bool
	// moments are what the last comparison saw; nil while nobody watches.
	moments map[string]index.Moment
	// noted has each hint that was due since the replica began.
	noted hints
}

// New returns Streams without any.
func New(c Config) *Streams {
	return &Streams{
		streams: c.Pools.Places(pool.Spec{Name: "list_streams", Of: "open streams", Size: maxAll, Share: maxStreams, Reserve: forAdmins, Retry: heartbeat}),
		rows:    c.Pools.Places(pool.Spec{Name: "list_rows", Of: "rows of lists that streams follow", Size: maxHeld, Share: ownHeld, Reserve: adminsHeld, Retry: heartbeat}),
		config:  c, all: map[string]*Stream{}, noted: hints{}}
}

// Stream is one reader. Next is for one goroutine.
type Stream struct {
	ID     string
	of     *Streams
	caller identity.Principal
	wake   chan struct{}
	ended  chan struct{}
	// sentAt is when the last batch was returned, lookedAt when the marks were last
	// taken.
	sentAt, lookedAt time.Time

	mu                        sync.Mutex
	why                       error
	services, clusters, hints map[string]bool
	// changed is what the next batch is about.
	changed, gone map[string]bool
	hinted        hints
	lists         []*rows
	// held are the places of the stream and of its lists.
	held []*pool.Held
}

// Open begins a stream of the caller. With a resume token, the first batch has all of the
// topics as they are now, and every hint when anything changed since: that is cheaper
// than to remember what changed when.
func (s *Streams) Open(ctx context.Context, caller identity.Principal, topics Topics, token string) (*Stream, error) {
	news, err := s.since(ctx, token)
	if err != nil {
		return nil, err
	}
	reach, err := s.config.Identity.Reach(ctx, caller, identity.ActionRead)
	if err != nil {
		return nil, err
	}
	one := &Stream{
		ID: identity.NewID("str_"), of: s, caller: caller, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		changed: map[string]bool{}, gone: map[string]bool{}, hinted: hints{}, lists: s.lists(topics),
	}
	if err := one.watch(topics, reach); err != nil {
		return nil, err
	}
	if err := s.add(one); err != nil {
		return nil, err
	}
	s.begin()
	if err := one.hold(reach); err != nil {
		one.Close()
		return nil, err
	}
	// Only now: a change meanwhile would be told twice, and never lost.
	s.missed(one, nil)
	if news != nil {
		one.take(*news)
		one.follow(*news)
	}
	return one, nil
}

// since returns what a reader with a resume token has to be told, nil without one.
func (s *Streams) since(ctx context.Context, token string) (*index.Change, error) {
	if token == "" {
		return nil, nil
	}
	at, err := event.ParsePosition(token)
	if err == nil {
		err = s.config.Feed.WaitFor(ctx, at)
	}
	if err != nil {
		return nil, err
	}
	now := s.config.Feed.Position()
	if at.Incarnation != now.Incarnation {
		return nil, ErrTooOld
	}
	return &index.Change{Topics: true, All: at.Before(now)}, nil
}

// begin notes what the first comparison compares with, before the stream's first rows are
// read: what changes meanwhile is told.
func (s *Streams) begin() {
	s.mu.Lock()
	first := s.moments == nil
	s.mu.Unlock()
	if !first {
		return
	}
	now := s.config.Index.Moments()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moments == nil {
		s.moments = now
	}
}

func (s *Streams) add(one *Stream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errStopping
	}
	held, err := s.streams.Take(one.caller.Sharing())
	if err != nil {
		return err
	}
	one.keep(held)
	s.all[one.ID] = one
	return nil
}

// keep keeps places until the stream ends.
func (s *Stream) keep(held *pool.Held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		held.Leave()
	default:
		s.held = append(s.held, held)
	}
}

func (s *Stream) ownedBy(p identity.Principal) bool {
	return s.caller.Kind == p.Kind && s.caller.ID == p.ID
}

// SetTopics replaces the topics of a stream of the caller. Its next batch has those that
// are new, and of new hints those that were given a moment ago.
func (s *Streams) SetTopics(ctx context.Context, caller identity.Principal, id string, topics Topics) error {
	s.mu.Lock()
	one := s.all[id]
	s.mu.Unlock()
	if one == nil || !one.ownedBy(caller) {
		return errNone
	}
	if topics.ServiceList != nil || topics.ClusterList != nil {
		return errcode.New(errcode.Invalid, "topics: a stream has its lists from the beginning; open Watch again for others")
	}
	reach, err := s.config.Identity.Reach(ctx, caller, identity.ActionRead)
	if err != nil {
		return err
	}
	before, asked := one.watched()
	if err := one.watch(topics, reach); err != nil {
		return err
	}
	one.mark(func(id string) bool { return !before[id] })
	s.missed(one, asked)
	one.poke()
	return nil
}

// watched are the ids and the hints that the stream watches.
func (s *Stream) watched() (all, asked map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all = maps.Clone(s.services)
	maps.Copy(all, s.clusters)
	return all, s.hints
}

// mark makes the next batch hold those of the topics.
func (s *Stream) mark(which func(id string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ids := range []map[string]bool{s.services, s.clusters} {
		for id := range ids {
			if which(id) {
				s.changed[id] = true
			}
		}
	}
}

// watch sets the topics. What is not within reach is gone at once, as what never was:
// otherwise its changes would tell that it is there.
func (s *Stream) watch(t Topics, reach identity.Reach) error {
	if n := len(t.Services) + len(t.Clusters); n > MaxTopics {
		return errcode.New(errcode.Invalid, "topics: %d ids, at most %d", n, MaxTopics)
	}
	for _, hint := range t.Hints {
		if !slices.Contains(index.Hints, hint) {
			return errcode.New(errcode.Invalid, "topics.hints: %.40q is not known; use one of %v", hint, index.Hints)
		}
	}
	services, clusters, err := s.of.within(t.Services, t.Clusters, reach)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.services, s.clusters, s.hints = set(services), map[string]bool{}, set(t.Hints)
	for _, c := range clusters {
		s.clusters[c.ID] = true
	}
	for _, id := range slices.Concat(t.Services, t.Clusters) {
		if !s.services[id] && !s.clusters[id] {
			s.gone[id] = true
		}
	}
	maps.DeleteFunc(s.changed, func(id string, _ bool) bool { return !s.services[id] && !s.clusters[id] })
	return nil
}

func set(ids []string) map[string]bool {
	all := make(map[string]bool, len(ids))
	for _, id := range ids {
		all[id] = true
	}
	return all
}

// within returns what of the ids is within reach.
func (s *Streams) within(services, clusters []string, reach identity.Reach) ([]string, []index.ClusterHit, error) {
	there, err := s.config.Index.ServicesByID(services, reach)
	if err != nil {
		return nil, nil, err
	}
	hits, err := s.config.Index.ClustersByID(clusters, reach)
	return there, hits, err
}

// take marks what a change is about. It never waits.
func (s *Stream) take(c index.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range c.Services {
		if s.services[id] {
			s.changed[id] = true
		}
	}
	for _, id := range c.Clusters {
		if s.clusters[id] {
			s.changed[id] = true
		}
	}
	if c.All || c.Topics {
		maps.Copy(s.changed, s.services)
		maps.Copy(s.changed, s.clusters)
	}
	for _, hint := range hintsOf(c) {
		if s.hints[hint] {
			s.hinted.add(hint, c.Scopes, s.of.config.Clock.Now())
		}
	}
	if len(s.changed)+len(s.hinted) > 0 {
		s.poke()
	}
}

func (s *Stream) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Changed tells the streams of a change. It is an index's listener, and never waits for
// a reader.
func (s *Streams) Changed(c index.Change) {
	s.note(c)
	for _, one := range s.list() {
		one.take(c)
		one.follow(c)
	}
}

func (s *Streams) list() []*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.all))
}

// Close ends the stream. It is for the goroutine of Next.
func (s *Stream) Close() {
	s.end(ErrClosed)
}

func (s *Stream) end(why error) {
	s.of.mu.Lock()
	delete(s.of.all, s.ID)
	if len(s.of.all) == 0 {
		s.of.moments = nil
	}
	s.of.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
	default:
		s.why = why
		close(s.ended)
		for _, held := range s.held {
			held.Leave()
		}
	}
}

// Next waits for the next batch: the first comes at once, then one when something
// changed, or an empty one as a heartbeat. Its error ends the stream.
func (s *Stream) Next(ctx context.Context) (Batch, error) {
	now := s.of.config.Clock
	for first := s.sentAt.IsZero(); ; {
		if !first {
			silence := now.After(heartbeat - now.Now().Sub(s.sentAt))
			if err := s.wait(ctx, s.wake, silence); err != nil {
				return Batch{}, err
			}
			if early := between - now.Now().Sub(s.lookedAt); early > 0 {
				if err := s.wait(ctx, nil, now.After(early)); err != nil {
					return Batch{}, err
				}
			}
		}
		b, err := s.batch(ctx)
		s.lookedAt = now.Now()
		// What changed may be nothing that the caller may know of.
		if err != nil || first || !b.empty() || s.lookedAt.Sub(s.sentAt) >= heartbeat {
			s.sentAt = s.lookedAt
			return b, err
		}
	}
}

func (s *Stream) wait(ctx context.Context, wake <-chan struct{}, until <-chan time.Time) error {
	select {
	case <-wake:
	case <-until:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
		return s.why
	}
	return nil
}
