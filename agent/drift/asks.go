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
	// gatherFor is how long to wait for more objects before a batch is sent.
	gatherFor = 150 * time.Millisecond
	// The bounds of one batch, and of the objects held for the next ones. Objects
	// beyond them are read again when their turn comes.
	batchObjects = 100
	batchBytes   = 2 << 20
	heldBytes    = 4 << 20
	// roomFor is how long a watch waits while too many objects are held.
	roomFor = 2 * time.Second
	// firstFor is how long a starting watch waits for the first verdicts.
	firstFor = 10 * time.Second
	// The back-off after a failed batch.
	askMin = time.Second
	askMax = time.Minute
	// After toldAfter failures an object is Unknown; until then it keeps its health.
	toldAfter = 2
)

// Expressions judges objects with rules that this process cannot evaluate.
type Expressions interface {
	// JudgeExpressions returns verdicts for the first of some objects, given as JSON,
	// at least for one. Errors are Invalid if the rule cannot be used, and Exhausted
	// if the child did not survive these objects.
	JudgeExpressions(ctx context.Context, rule *health.Expressions, objects [][]byte) ([]health.Result, error)
}

// question is an object that waits for its verdict.
type question struct {
	kind    kubeobj.Kind
	ref     kubeobj.Ref
	uid     types.UID
	version string
	rule    *health.Expressions
	digest  string
	// raw is the object; nil means that it is read when its turn comes.
	raw []byte
	// next is when to ask, and most with how many others: fewer after each batch that
	// the child did not survive, until the one at fault is found.
	next   time.Time
	most   int
	failed int
}

// asked identifies a verdict's object and rule, which is not judged again.
type asked struct {
	uid             types.UID
	version, digest string
}

func (q *question) asked() asked { return asked{q.uid, q.version, q.digest} }

// asks are the questions of a Watcher. The zero value has none and costs nothing. The
// Watcher's lock guards all fields.
type asks struct {
	waiting map[kubeobj.Ref]*question
	flying  []*question
	bytes   int
	// running: the goroutine runs; it ends when nothing waits.
	running bool
	wake    chan struct{}
	// answered is closed after each batch, and replaced.
	answered chan struct{}
	backoff  jitter.Backoff
	failing  bool
}

// question returns the question about an object that a watch read; nil for an object
// that is judged here.
func (s *stream) question(raw []byte, ref kubeobj.Ref, live kubeobj.Live) *question {
	rule := s.w.ruleOf(s.k.kind)
	if rule == nil {
		return nil
	}
	return &question{kind: s.k.kind, ref: ref, uid: live.UID, version: live.ResourceVersion, rule: rule, digest: unique.Make(rule.Digest()).Value(),
		raw: s.typed(raw), most: batchObjects}
}

// ruleOf is the CEL rule that judges a kind now, or nil.
func (w *Watcher) ruleOf(kind kubeobj.Kind) *health.Expressions {
	return w.cfg.Rules.Expressions(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind})
}

// inForce reports whether the rule of a question still judges its kind.
func (w *Watcher) inForce(q *question) bool {
	rule := w.ruleOf(q.kind)
	return rule != nil && (rule == q.rule || rule.Digest() == q.digest)
}

// askLocked gives an object a preliminary health until its verdict arrives, and asks
// for the verdict. An object whose present version was already judged by this rule
// keeps its health and is not asked about.
func (w *Watcher) askLocked(k *kindWatch, q *question, live, old kubeobj.Live, had bool) kubeobj.Live {
	same := had && old.UID == live.UID
	live.Health, live.Message = string(health.Unknown), "it waits for the verdict of rule "+q.rule.Name
	if same {
		live.Health, live.Message = old.Health, old.Message
	}
	if !same || k.judged[name{q.ref.Namespace, q.ref.Name}] != q.asked() {
		w.enqueueLocked(q, gatherFor)
	}
	return w.intern(live)
}

// appliedLocked is called when an object was applied and its watch has already
// delivered it. Until the verdict, the known health is of the version before, so
// nobody may rely on it.
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
			// Keep what was learnt; its turn comes when it would have.
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

// dropQuestionsLocked drops the questions of a kind that is no longer watched, or
// whose rules changed: all its objects are then read again.
func (w *Watcher) dropQuestionsLocked(kind kubeobj.Kind) {
	for ref, q := range w.asks.waiting {
		if q.kind == kind {
			w.asks.bytes -= len(q.raw)
			delete(w.asks.waiting, ref)
		}
	}
}

// ask sends batches until nothing waits or the context ends.
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

// batchLocked takes questions of one kind and rule from those that wait, or returns
// how long until one is due.
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
		// A question that waits longer than gatherFor is in its back-off.
		if q.kind == first.kind && q.digest == first.digest && q.most >= len(batch)+1 && q.next.Sub(now) <= gatherFor {
			take(q)
		}
	}
	return batch, 0
}
