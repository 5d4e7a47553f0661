package drift

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/logkey"
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
	return &question{kind: s.k.kind, ref: ref, uid: live.UID, version: live.ResourceVersion, rule: rule, digest: rule.Digest(),
		raw: s.typed(raw), most: batchObjects}
}

// ruleOf is the rule in CEL that judges a kind now, or nil.
func (w *Watcher) ruleOf(kind kubeobj.Kind) *health.Expressions {
	return w.cfg.Rules.Expressions(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind})
}

// askLocked gives an object the health that it has until its verdict is there,
// and asks for that. An object that was judged in this very version by this
// rule keeps what it has. One that we changed is Progressing: what was said of
// it is of what it was before.
func (w *Watcher) askLocked(k *kindWatch, q *question, live, old kubeobj.Live, had bool) kubeobj.Live {
	same := had && old.UID == live.UID
	switch {
	case same && old.Print.Own == live.Print.Own:
		live.Health, live.Message = old.Health, old.Message
	case had:
		live.Health, live.Message = string(health.Progressing), "it has changed and waits for its rule"
	default:
		live.Health, live.Message = string(health.Unknown), "it waits for its rule "+q.rule.Name
	}
	if !same || k.judged[name{q.ref.Namespace, q.ref.Name}] != q.asked() {
		w.enqueueLocked(q, gatherFor)
	}
	return w.intern(live)
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

// dropQuestionsLocked drops those of a kind whose rules are others now: all its
// objects are read again.
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

// askOne asks about one batch and takes the verdicts over.
func (w *Watcher) askOne(ctx context.Context, batch []*question) {
	batch, unread := w.readAll(ctx, batch)
	var results []health.Result
	var err error
	if len(batch) > 0 {
		objects := make([][]byte, len(batch))
		for n, q := range batch {
			objects[n] = q.raw
		}
		results, err = w.judgeElsewhere(ctx, batch[0].rule, objects)
		if ctx.Err() != nil {
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	a := &w.asks
	if err == nil && len(batch) > 0 {
		a.failing = false
		a.backoff.Reset()
	}
	for n, q := range batch {
		switch {
		case n < len(results):
			w.answerLocked(q, results[n])
		case err == nil:
			// The time of the batch was over.
			w.againLocked(q, 0)
		case errcode.Is(err, errcode.Invalid):
			w.answerLocked(q, health.Result{Status: health.Unknown, Message: errcode.Message(err)})
		}
	}
	if err != nil && !errcode.Is(err, errcode.Invalid) {
		w.failLocked(batch, err)
	}
	for _, q := range unread {
		w.failLocked([]*question{q}, errcode.New(errcode.Unavailable, "the object cannot be read"))
	}
	a.flying = nil
	close(a.answered)
	a.answered = make(chan struct{})
}

func (w *Watcher) judgeElsewhere(ctx context.Context, rule *health.Expressions, objects [][]byte) ([]health.Result, error) {
	if w.cfg.Expressions == nil {
		return nil, errcode.New(errcode.Unavailable, "this agent cannot judge by CEL")
	}
	return w.cfg.Expressions.JudgeExpressions(ctx, rule, objects)
}

// readAll reads the objects that were not held. One that is gone is no question
// any more; its watch tells.
func (w *Watcher) readAll(ctx context.Context, batch []*question) (read, unread []*question) {
	for _, q := range batch {
		if q.raw == nil {
			err := w.fill(ctx, q)
			switch {
			case apierrors.IsNotFound(err):
				continue
			case err != nil:
				unread = append(unread, q)
				continue
			}
		}
		read = append(read, q)
	}
	return read, unread
}

// fill reads the object of a question, as it is now.
func (w *Watcher) fill(ctx context.Context, q *question) error {
	raw, err := w.fetch(ctx, q.kind, q.ref, acceptWhole)
	if err != nil {
		return err
	}
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &meta); err != nil {
		return err
	}
	q.raw, q.uid, q.version = raw, meta.UID, meta.ResourceVersion
	return nil
}

// failLocked asks again later. Of several objects the one at fault may be any,
// so that fewer are asked together; one alone is at fault itself.
func (w *Watcher) failLocked(batch []*question, err error) {
	a := &w.asks
	if !a.failing {
		a.failing = true
		w.cfg.Log.Warn("objects cannot be judged by their rule", logkey.Object, batch[0].rule.Name, logkey.Count, len(batch), logkey.Error, errcode.Message(err))
	}
	wait := a.backoff.Next()
	for _, q := range batch {
		q.raw = nil
		if errcode.Is(err, errcode.Exhausted) && len(batch) > 1 {
			q.most = max(1, len(batch)/2)
			w.againLocked(q, wait)
			continue
		}
		if q.failed++; q.failed >= toldAfter {
			w.tellVerdictLocked(q, health.Result{Status: health.Unknown, Message: fmt.Sprintf("rule %s could not be asked: %s; it is asked again", q.rule.Name, errcode.Message(err))})
		}
		w.againLocked(q, max(wait, min(askMin<<min(q.failed-1, 10), askMax)))
	}
}

// againLocked puts a question back; what was asked about the object meanwhile
// stays instead, and nothing is asked by a rule that is not in force.
func (w *Watcher) againLocked(q *question, wait time.Duration) {
	if rule := w.ruleOf(q.kind); rule == nil || rule != q.rule && rule.Digest() != q.digest {
		return
	}
	if next := w.asks.waiting[q.ref]; next != nil {
		if next.digest == q.digest {
			next.most, next.failed = min(next.most, q.most), max(next.failed, q.failed)
			next.next = w.cfg.Clock.Now().Add(max(wait, gatherFor))
		}
		return
	}
	w.enqueueLocked(q, wait)
}

func (w *Watcher) answerLocked(q *question, result health.Result) {
	if k := w.tellVerdictLocked(q, result); k != nil {
		if k.judged == nil {
			k.judged = map[name]asked{}
		}
		k.judged[name{q.ref.Namespace, q.ref.Name}] = q.asked()
	}
}

// tellVerdictLocked gives an object its health, if it is still as it was when
// it was judged and the rule still is in force. Otherwise it was asked anew.
func (w *Watcher) tellVerdictLocked(q *question, result health.Result) *kindWatch {
	k := w.kinds[q.kind.GroupKind()]
	if rule := w.ruleOf(q.kind); k == nil || rule == nil || rule != q.rule && rule.Digest() != q.digest {
		return nil
	}
	at := name{q.ref.Namespace, q.ref.Name}
	live, found := k.objects[at]
	if !found || live.UID != q.uid || live.ResourceVersion != q.version {
		return nil
	}
	message := short(result.Message)
	if live.Health == string(result.Status) && live.Message == message {
		return k
	}
	live.Health, live.Message = string(result.Status), message
	live = w.intern(live)
	k.objects[at] = live
	w.paceLocked(q.ref, live)
	if k.state == synced {
		w.tellLocked(live.Service)
	}
	return k
}

// room waits a little while more objects are held than should be, unless nobody
// answers anyhow.
func (w *Watcher) room(ctx context.Context) {
	w.answersUntil(ctx, roomFor, func() bool { return w.asks.bytes < heldBytes || w.asks.failing })
}

// firstVerdicts waits for those of a kind whose watch starts, so that a start is
// not seen as a change.
func (w *Watcher) firstVerdicts(ctx context.Context, kind kubeobj.Kind) {
	w.answersUntil(ctx, firstFor, func() bool {
		for _, q := range w.asks.waiting {
			if q.kind == kind {
				return w.asks.failing
			}
		}
		return !slices.ContainsFunc(w.asks.flying, func(q *question) bool { return q.kind == kind })
	})
}

func (w *Watcher) answersUntil(ctx context.Context, limit time.Duration, enough func() bool) {
	var over <-chan time.Time
	for {
		w.mu.Lock()
		done, answered := enough(), w.asks.answered
		w.mu.Unlock()
		if done {
			return
		}
		if over == nil {
			over = w.cfg.Clock.After(limit)
		}
		select {
		case <-ctx.Done():
			return
		case <-over:
			return
		case <-answered:
		}
	}
}
