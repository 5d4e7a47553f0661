package poll

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/agent/poll/content"
	"github.com/axle-cd/axle/agent/poll/report"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/logkey"
)

// specsAtOnce is how many specs one call of Services requests.
const specsAtOnce = 200

// takeList makes a list that was just received the present one. It stores the list
// before acting on it, so that a restart never goes back.
func (l *Loop) takeList(answer Answer) {
	l.mu.Lock()
	l.deletes = l.deletes.After(answer.Lineage, answer.List.GetIncarnation().GetConfirmed())
	hold := l.deletes
	l.etag = answer.ETag
	if answer.Lineage != SameLife {
		l.facts = nil // settings depend on what the hub knows of the cluster, which may be outdated
	}
	l.mu.Unlock()
	if hold == ForReports || answer.Lineage == Restored {
		l.report.WantWhole()
	}
	l.remember(func(r *cache.Remembered) {
		*r = cache.Remembered{Signed: answer.Signed, ETag: answer.ETag, Seen: answer.Seen, Shown: answer.Shown, Deletes: string(hold)}
	})
	l.mu.Lock()
	moved := l.acceptEntries(answer.List)
	l.sweepDue = l.sweepDue || moved
	l.listedAt, l.specsComing = l.config.Clock.Now(), true
	l.mu.Unlock()
	l.config.Log.Info("accepted a new list", logkey.Count, len(answer.List.GetServices()), logkey.Position, answer.Seen)
	if moved {
		l.drop()
	}
}

// acceptEntries gives each service its entry, its tombstone, or neither; without either
// it is held. If an entry is unchanged, only its bytes are replaced: lists of
// thousands of services follow each other with few changes. moved reports whether any
// files or services changed.
func (l *Loop) acceptEntries(list *agentv1.Desired) (moved bool) {
	words := l.list == nil || l.list.GetPending() != list.GetPending() || l.listDeletes != l.deletes
	l.list, l.listDeletes = list, l.deletes
	l.allSettled = false
	l.lists++
	if l.config.Destroying != nil {
		l.config.Destroying(list.GetDestroying())
	}
	for _, w := range list.GetServices() {
		s := l.ensure(w.GetId())
		s.inList = l.lists
		before := s.listed()
		w := offered(l, s, w)
		if s.name == w.GetName() && s.drain == nil && s.tombstone == nil && s.waiting == before.waiting && sameEntry(s.want, w) {
			s.want = w
			continue
		}
		moved = moved || !sameContent(s.want, w)
		s.desire(w)
		s.tombstone, s.drain = nil, nil
		l.call(s, w.GetName(), w.GetNamespace())
		l.entryChanged(s, before)
	}
	for _, t := range list.GetTombstones() {
		s := l.ensure(t.GetServiceId())
		s.inList = l.lists
		before := s.listed()
		s.desire(nil)
		s.tombstone = t
		if s.name == "" {
			l.call(s, t.GetName(), t.GetNamespace())
		}
		if s.drain != nil && s.drain.Done {
			l.report.Drained(t) // the hub has not received the report, or has lost it
		}
		l.entryChanged(s, before)
	}
	moved = moved || len(l.services) != len(list.GetServices())
	for _, s := range l.services {
		if s.inList != l.lists {
			before := s.listed()
			s.desire(nil)
			s.tombstone = nil
			l.entryChanged(s, before)
		}
		if words {
			l.hints.Touch(s.Id)
		}
	}
	l.hints.Poke()
	return moved
}

// entryChanged holds a service or lets it continue, as its entry says, and has its status
// checked if the entry changed.
func (l *Loop) entryChanged(s *service, before listed) {
	l.hold(s)
	if !before.same(s) {
		l.hints.Touch(s.Id)
	}
}

// sameEntry reports whether two entries of a service are equal.
func sameEntry(a, b *agentv1.DesiredService) bool {
	return sameContent(a, b) && a.GetName() == b.GetName() && a.GetNamespace() == b.GetNamespace() &&
		a.GetSpecDigest() == b.GetSpecDigest() && a.GetPaused() == b.GetPaused()
}

// sameContent reports whether two entries name the same files.
func sameContent(a, b *agentv1.DesiredService) bool {
	if a == nil || b == nil || a.GetTarballDigest() != b.GetTarballDigest() {
		return false
	}
	return slices.EqualFunc(a.GetParts(), b.GetParts(), func(p, q *agentv1.Part) bool { return proto.Equal(p, q) })
}

// listed is the part of a list's entry that affects a status.
type listed struct {
	key, waiting string
	paused, here bool
	tombstone    *agentv1.Tombstone
}

func (s *service) listed() listed {
	return listed{s.wantKey, s.waiting, s.want.GetPaused(), s.want != nil, s.tombstone}
}

func (l listed) same(s *service) bool {
	now := s.listed()
	return l.key == now.key && l.waiting == now.waiting && l.paused == now.paused && l.here == now.here && proto.Equal(l.tombstone, now.tombstone)
}

// hold stops everything for a service that is paused or in no list. A service that
// comes back gets a complete pass.
func (l *Loop) hold(s *service) {
	held := s.tombstone == nil && (s.want == nil || s.want.GetPaused() || s.idles())
	switch {
	case held:
		s.unqueue()
		s.known = true
		l.config.Apply.Pause(s.Id)
		if s.want == nil {
			l.config.Claims.Unclaim(s.Id)
		}
	case s.held:
		s.done = nil
	}
	s.held = held
}

// dropDue drops what was kept after a list because passes still needed it.
func (l *Loop) dropDue() {
	l.mu.Lock()
	due := l.sweepDue && l.loaded
	if due {
		l.sweepDue = l.busyLocked(l.config.Clock.Now())
	}
	l.mu.Unlock()
	if due {
		l.drop()
	}
}

// drop forgets what is no longer needed: services without an entry, a tombstone or an
// inventory in the cluster, and unused trees.
func (l *Loop) drop() {
	l.mu.Lock()
	if !l.loaded {
		l.mu.Unlock()
		return
	}
	keep := map[string]digest.Digest{}
	var gone []string
	for id, s := range l.services {
		if s.want != nil {
			for i, p := range content.Parts(s.want) {
				keep[content.Key(id, i)] = digest.Digest(p.GetDigest())
			}
			continue
		}
		if _, applied := l.config.Inventory.State(id); s.tombstone == nil && !applied && !s.Running {
			gone = append(gone, id)
			l.forget(s)
		}
	}
	if len(gone) > 0 {
		l.tellSpecs()
	}
	l.mu.Unlock()
	for _, id := range gone {
		l.report.Forget(id)
		if err := l.config.Cache.DropSpec(id); err != nil {
			l.config.Log.Warn("cannot remove an unused spec from disk", logkey.Service, id, logkey.Error, err)
		}
	}
	if err := l.config.Cache.Keep(keep); err != nil {
		l.config.Log.Warn("cannot remove unused trees from disk", logkey.Error, err)
	}
}

// fetchSpecs requests the specs that the list names as new. The next poll retries
// those that fail. A service continues with its present spec if that is the one the
// list names.
func (l *Loop) fetchSpecs(ctx context.Context) {
	defer func() {
		l.mu.Lock()
		l.specsComing = false
		l.mu.Unlock()
	}()
	wanted := map[string]string{}
	l.mu.Lock()
	if !l.list.GetPending() {
		for id, s := range l.services {
			if s.needsSpec() {
				wanted[id] = s.wantKey
			}
		}
	}
	l.mu.Unlock()
	ids := make([]string, 0, len(wanted))
	for id := range wanted {
		ids = append(ids, id)
	}
	for len(ids) > 0 {
		n := min(len(ids), specsAtOnce)
		answer, err := l.config.Hub.Services(ctx, ids[:n])
		if err != nil {
			l.specsFailed(ids, err)
			return
		}
		l.takeSpecs(answer, wanted)
		ids = ids[n:]
	}
	l.storeApplied()
}

func (l *Loop) takeSpecs(answer *agentv1.ServicesResponse, wanted map[string]string) {
	if at := answer.GetPosition(); at.GetIncarnation() != "" {
		l.remember(func(r *cache.Remembered) { r.Seen = fmt.Sprintf("%s.%d", at.GetIncarnation(), at.GetSequence()) })
	}
	for id, err := range l.config.Cache.PutSpecs(answer.GetServices()) {
		l.config.Log.Error("cannot store a spec; it is used now and requested again after a restart", logkey.Service, id, logkey.Error, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.tellSpecs()
	l.allSettled = false
	for _, spec := range answer.GetServices() {
		s := l.services[spec.GetId()]
		key, asked := wanted[spec.GetId()]
		if s == nil || !asked {
			continue
		}
		s.specify(spec)
		s.specFor = key
		l.call(s, spec.GetName(), spec.GetNamespace())
		// The desired revision may already be applied. Then no pass follows that
		// would report the end and what was applied.
		told := l.renameApplied(s)
		if s.trouble != nil && s.trouble.Source == report.SourceAgent {
			s.trouble, told = nil, true
		}
		if told {
			l.hints.Touch(s.Id)
			l.hints.Poke()
		}
		// The list is older than its specs: a new one will come soon.
		if s.want != nil && spec.GetSpecDigest() != s.want.GetSpecDigest() {
			l.Poke()
		}
	}
	for _, id := range answer.GetMissing() {
		// Removed since the list was made; the next list will tell.
		if s := l.services[id]; s != nil && s.spec != nil {
			s.specFor = wanted[id]
		}
	}
}

// tellSpecs passes on all specs. The caller holds Loop.mu.
func (l *Loop) tellSpecs() {
	if l.config.Specs == nil {
		return
	}
	var all []*agentv1.ServiceSpec
	for _, s := range l.services {
		if s.spec != nil {
			all = append(all, s.spec)
		}
	}
	l.config.Specs(all)
}

// specsFailed records the reason on each waiting service.
func (l *Loop) specsFailed(ids []string, err error) {
	l.config.Log.Warn("cannot fetch specs", logkey.Count, len(ids), logkey.Error, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if s := l.services[id]; s != nil {
			if trouble := (&report.Trouble{Source: report.SourceAgent, Err: err}); !trouble.Away() || s.trouble == nil || s.trouble.Source == report.SourceAgent {
				s.fails(trouble, l.config.Clock.Now())
			}
			s.known = true
			l.hints.Touch(id)
		}
	}
	l.hints.Poke()
}

// queueChanged queues passes for changed services. After a 304 it only compares
// strings in memory.
func (l *Loop) queueChanged() {
	renderer := l.config.Render.RendererVersion()
	now := l.config.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.loaded || l.list == nil {
		return
	}
	for _, s := range l.services {
		s.queueChanged(now, renderer)
	}
	poke(l.work)
}

// queueReads queues passes that read looked-up objects again, after each tenth poll
// and not more often: the end of a pass must not cause the next one.
func (l *Loop) queueReads() {
	now := l.config.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.loaded || l.list == nil || l.polls%readsEvery != 0 {
		return
	}
	for _, s := range l.services {
		if s.done != nil && len(s.done.Reads) > 0 && s.want != nil && !s.held {
			s.readReads = true
			s.queue(now, change.NewReads)
		}
	}
	poke(l.work)
}

// queueChanged queues a pass if the service is not as it should be.
func (s *service) queueChanged(now time.Time, renderer string) {
	switch {
	case s.tombstone != nil:
		if s.drain == nil || !s.drain.Done {
			s.queue(now, change.Unchanged)
		}
	case s.held && s.requested():
		if s.Due.IsZero() {
			s.queue(now, change.Asked)
		}
	case s.held || s.spec == nil || !s.specFits():
	default:
		wanted := s.wanted(renderer)
		cause := change.Of(s.done, wanted)
		switch {
		case cause != change.Unchanged && !s.waits(wanted):
			s.queue(now, cause)
		case cause == change.Unchanged && (s.trouble != nil || s.gate != "") && !s.needsSpec():
			s.queue(now, change.Unfinished) // the revision in between could not be applied
		}
	}
}

// waits reports whether a pass for these inputs is already queued, or was tried and
// waits for its retry.
func (s *service) waits(wanted change.Inputs) bool {
	return !s.Due.IsZero() && (s.inputs.TarballDigest == "" || change.Of(&s.inputs, wanted) == change.Unchanged)
}
