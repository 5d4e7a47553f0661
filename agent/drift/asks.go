package drift

import (
	"context"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

const (
	// gatherFor is how long more objects are waited for before a batch is asked.
	gatherFor = 150 * time.Millisecond
	// The bounds of one batch, and of the objects held for the next ones: what
	// is beyond those is read again when its turn comes.
	batchObjects = 100
	batchBytes   = 2 << 20
	heldBytes    = 4 << 20
	// roomFor is how long a watch waits for room among the held objects.
	roomFor = 2 * time.Second
	// firstFor is how long a watch that starts waits for the first verdicts.
	firstFor = 10 * time.Second
	// The back-off of asking again after a failure.
	askMin = time.Second
	askMax = time.Minute
	// toldAfter failures an object is Unknown; until then it stays what it was.
	toldAfter = 2
)

// Expressions judges objects by rules that this process cannot judge by.
type Expressions interface {
	// JudgeExpressions returns the verdicts of the first of some objects, JSON
	// each, at least one. Its errors are Invalid when the rule cannot be used
	// and Exhausted when it did not survive these objects.
	JudgeExpressions(ctx context.Context, rule *health.Expressions, objects [][]byte) ([]health.Result, error)
}

// question is an object whose verdict is asked for.
type question struct {
	kind    kubeobj.Kind
	ref     kubeobj.Ref
	uid     types.UID
	version string
	rule    *health.Expressions
	digest  string
	// raw is the object; nil is to be read when its turn comes.
	raw []byte
	// next is when it is asked, and most how many are asked with it: fewer after
	// each batch that nobody survived, until the one at fault is found.
	next   time.Time
	most   int
	failed int
}

// asked tells a verdict's object and rule: the same is not judged again.
type asked struct {
	uid             types.UID
	version, digest string
}

func (q *question) asked() asked { return asked{q.uid, q.version, q.digest} }

// asks are the questions of a Watcher. The zero value has none and costs
// nothing; all fields are guarded by the Watcher's lock.
type asks struct {
	waiting map[kubeobj.Ref]*question
	flying  []*question
	bytes   int
	// running says that the goroutine lives: it ends when nothing waits.
	running bool
	wake    chan struct{}
	// answered is closed after each batch, and made anew.
	answered chan struct{}
	backoff  jitter.Backoff
	failing  bool
}

// question is what a watch has to ask about an object that it read; nil for one
// that is judged here.
func (s *stream) question(raw []byte, ref kubeobj.Ref, live kubeobj.Live) *question {
	rule := s.w.ruleOf(s.k.kind)
	if rule == nil {
		return nil
	}
	return &question{kind: s.k.kind, ref: ref, uid: live.UID, version: live.ResourceVersion, rule: rule, digest: unique.Make(rule.Digest()).Value(),
		raw: s.typed(raw), most: batchObjects}
}

// ruleOf is the rule in CEL that judges a kind now, or nil.
func (w *Watcher) ruleOf(kind kubeobj.Kind) *health.Expressions {
	return w.cfg.Rules.Expressions(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind})
}

// inForce says that the rule of a question judges its kind still.
func (w *Watcher) inForce(q *question) bool {
	rule := w.ruleOf(q.kind)
	return rule != nil && (rule == q.rule || rule.Digest() == q.digest)
}

// askLocked gives an object the health that it has until its verdict is there,
// and asks for that. An object that was judged in this very version by this
// rule keeps what it has, and is not asked about.
func (w *Watcher) askLocked(k *kindWatch, q *question, live, old kubeobj.Live, had bool) kubeobj.Live {
	same := had && old.UID == live.UID
	live.Health, live.Message = string(health.Unknown), "it waits for its rule "+q.rule.Name
	if same {
		live.Health, live.Message = old.Health, old.Message
	}
	if !same || k.judged[name{q.ref.Namespace, q.ref.Name}] != q.asked() {
		w.enqueueLocked(q, gatherFor)
	}
	return w.intern(live)
}

// appliedLocked is told that an object was applied, after its watch told of it.
// Before the verdict what is known is of what it was before, so that nobody may
// go on by it.
func (w *Watcher) appliedLocked(k *kindWatch, ref kubeobj.Ref, live kubeobj.Live) {
	rule, at := w.ruleOf(k.kind), name{ref.Namespace, ref.Name}
	if rule == nil || !k.whole || live.Deleting || k.judged[at] == (asked{live.UID, live.ResourceVersion, rule.Digest()}) {
		return
	}
	live.Health, live.Message = string(health.Progressing), justApplied
	k.objects[at] = w.intern(live)
	w.paceLocked(ref, live)
}

func (w *Watcher) enqueueLocked(q *question, wait time.Duration) {
	a := &w.asks
	if a.waiting == nil {
		a.waiting, a.wake, a.answered = map[kubeobj.Ref]*question{}, make(chan struct{}, 1), make(chan struct{})
		a.backoff = jitter.Backoff{Min: askMin, Max: askMax}
	}
	q.next = w.cfg.Clock.Now().Add(wait)
	if old := a.waiting[q.ref]; old != nil {
		a.bytes -= len(old.raw)
		if old.digest == q.digest {
			// What was learnt stays, and its turn comes when it would have.
			q.most, q.failed, q.next = min(q.most, old.most), max(q.failed, old.failed), old.next
		}
	}
	if a.bytes+len(q.raw) > heldBytes {
		q.raw = nil
	}
	a.bytes += len(q.raw)
	a.waiting[q.ref] = q
	if !a.running && w.ctx != nil {
		a.running = true
		w.running.Go(func() { w.ask(w.ctx) })
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// forgetLocked drops the question about an object that is gone.
func (w *Watcher) forgetLocked(k *kindWatch, ref kubeobj.Ref) {
	delete(k.judged, name{ref.Namespace, ref.Name})
	if q := w.asks.waiting[ref]; q != nil {
		w.asks.bytes -= len(q.raw)
		delete(w.asks.waiting, ref)
	}
}

// dropQuestionsLocked drops those of a kind that is not watched any more, or
// whose rules are others now: all its objects are read again then.
func (w *Watcher) dropQuestionsLocked(kind kubeobj.Kind) {
	for ref, q := range w.asks.waiting {
		if q.kind == kind {
			w.asks.bytes -= len(q.raw)
			delete(w.asks.waiting, ref)
		}
	}
}

// ask asks until nothing is waiting or the context ends.
func (w *Watcher) ask(ctx context.Context) {
	for {
		w.mu.Lock()
		batch, wait := w.batchLocked(w.cfg.Clock.Now())
		if batch == nil && len(w.asks.waiting) == 0 || ctx.Err() != nil {
			w.asks.running = false
			w.mu.Unlock()
			return
		}
		w.asks.flying = batch
		w.mu.Unlock()
		if batch != nil {
			w.askOne(ctx, batch)
			continue
		}
		select {
		case <-ctx.Done():
		case <-w.asks.wake:
		case <-w.cfg.Clock.After(wait):
		}
	}
}

// batchLocked takes questions of one kind and rule out of those that wait, or
// returns how long none is due.
func (w *Watcher) batchLocked(now time.Time) (batch []*question, wait time.Duration) {
	var first *question
	for _, q := range w.asks.waiting {
		if first == nil || q.next.Before(first.next) {
			first = q
		}
	}
	if first == nil {
		return nil, 0
	}
	if wait := first.next.Sub(now); wait > 0 {
		return nil, wait
	}
	most, size := first.most, 0
	take := func(q *question) {
		batch, size = append(batch, q), size+len(q.raw)
		most = min(most, q.most)
		delete(w.asks.waiting, q.ref)
		w.asks.bytes -= len(q.raw)
	}
	take(first)
	for _, q := range w.asks.waiting {
		if len(batch) >= most || size >= batchBytes {
			break
		}
		// One that waits for longer than others gather backs off.
		if q.kind == first.kind && q.digest == first.digest && q.most >= len(batch)+1 && q.next.Sub(now) <= gatherFor {
			take(q)
		}
	}
	return batch, 0
}
