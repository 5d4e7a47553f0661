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
// stays instead, and nothing is asked about objects that are not watched, or by
// a rule that is not in force.
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

// tellVerdictLocked gives an object its health, if it is still as it was when
// it was judged and the rule still is in force. Otherwise it was asked anew.
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
