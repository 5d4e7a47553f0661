package drift

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/logkey"
)

// askOne sends one batch and records the verdicts.
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
			// The batch ran out of time.
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

// readAll reads the objects that were not held. A deleted one needs no verdict; its
// watch reports it.
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

// fill reads the present object of a question.
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

// failLocked asks again later. Any of several objects may be at fault, so that
// smaller batches follow; a single object is at fault itself.
func (w *Watcher) failLocked(batch []*question, err error) {
	a := &w.asks
	if !a.failing {
		a.failing = true
		w.cfg.Log.Warn("cannot judge objects by their rule", logkey.Object, batch[0].rule.Name, logkey.Count, len(batch), logkey.Error, errcode.Message(err))
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
			w.tellVerdictLocked(q, health.Result{Status: health.Unknown, Message: fmt.Sprintf("rule %s could not be evaluated: %s; retrying", q.rule.Name, errcode.Message(err))})
		}
		w.againLocked(q, max(wait, min(askMin<<min(q.failed-1, 10), askMax)))
	}
}

// againLocked puts a question back, unless a newer one about the object exists, the
// object is no longer watched, or the rule is no longer in force.
func (w *Watcher) againLocked(q *question, wait time.Duration) {
	k := w.kinds[q.kind.GroupKind()]
	if k == nil || !w.inForce(q) {
		return
	}
	if _, known := k.objects[name{q.ref.Namespace, q.ref.Name}]; !known {
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

// tellVerdictLocked sets the health of an object if it has not changed since it was
// judged and the rule is still in force. Otherwise a new question exists.
func (w *Watcher) tellVerdictLocked(q *question, result health.Result) *kindWatch {
	k := w.kinds[q.kind.GroupKind()]
	if k == nil || !w.inForce(q) {
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

// room waits briefly while too many objects are held, unless no verdicts arrive
// anyway.
func (w *Watcher) room(ctx context.Context) {
	w.answersUntil(ctx, roomFor, func() bool { return w.asks.bytes < heldBytes || w.asks.failing })
}

// firstVerdicts waits for the verdicts of a kind whose watch starts, so that the
// start does not look like a change.
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
