package drift

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// healLimit bounds one call of the owner.
	healLimit = time.Minute
	// renderWait is how long to wait for a service that must be rendered first.
	renderWait = 30 * time.Second
)

// heal asks the owner to heal what decide found, one service after the other.
func (w *Watcher) heal(ctx context.Context) {
	for {
		service, refs := w.nextHeal()
		if len(refs) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-w.healWake:
			}
			continue
		}
		if w.heals.WaitN(ctx, len(refs)) != nil {
			return
		}
		w.healService(ctx, service, refs)
	}
}

// nextHeal takes some objects of one service off the queue.
func (w *Watcher) nextHeal() (service string, refs []kubeobj.Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, set := range w.healing {
		for ref := range set {
			if len(refs) == healRate {
				return id, refs
			}
			delete(set, ref)
			refs = append(refs, ref)
		}
		delete(w.healing, id)
		if len(refs) > 0 {
			return id, refs
		}
	}
	return "", nil
}

func (w *Watcher) healService(ctx context.Context, service string, refs []kubeobj.Ref) {
	limited, cancel := context.WithTimeout(ctx, healLimit)
	healed, err := w.owner.Heal(limited, service, refs)
	cancel()
	// Taking a list back that had changed only in fields left to others heals nothing.
	kept := map[kubeobj.Ref]bool{}
	healed = slices.DeleteFunc(healed, func(h kubeobj.Healed) bool {
		kept[h.Ref] = h.Same
		return h.Same
	})
	now := w.cfg.Clock.Now()
	needPass := errcode.Is(err, errcode.NotFound)
	if err != nil && !needPass {
		w.cfg.Log.Warn("heal", logkey.Service, service, logkey.Count, len(refs), logkey.Error, err)
	} else if err == nil && len(healed) > 0 {
		w.cfg.Log.Info("healed", logkey.Service, service, logkey.Count, len(refs), logkey.Object, refs[0].String(), logkey.Reason, healWords(healed))
	}
	w.mu.Lock()
	w.naming.healedLocked(service, healed, now)
	for _, ref := range refs {
		m := w.marks[ref]
		if m == nil {
			continue
		}
		m.queued, m.fault, m.kept = false, "", kept[ref]
		switch {
		case needPass:
			m.next = now.Add(renderWait)
		case err != nil:
			m.fault = errcode.Message(err)
			m.next = now.Add(m.backoff.Next())
		case kept[ref]:
			m.next = now.Add(healMin)
		default:
			m.healedLocked(now)
		}
		w.soonLocked(m)
		w.dirty[ref] = true
	}
	w.tellLocked(service)
	w.mu.Unlock()
	if needPass {
		w.cfg.NeedPass(service)
	}
}

// compareUnknown reads the objects of kinds that cannot be watched, one by one, when
// they are due.
func (w *Watcher) compareUnknown(ctx context.Context, now time.Time) {
	w.mu.Lock()
	var due []*kindWatch
	for _, k := range w.kinds {
		if k.state == unknown && !k.compareAt.After(now) {
			k.compareAt = now.Add(compareEvery)
			due = append(due, k)
		}
	}
	owner := w.owner
	w.mu.Unlock()
	for _, k := range due {
		for _, want := range owner.ExpectedOf(k.kind) {
			if want.Held || ctx.Err() != nil {
				continue
			}
			live, found, err := w.read(ctx, k, want.Ref)
			if err != nil {
				w.compareAgain(k, now, err)
				break
			}
			w.mu.Lock()
			w.concludeLocked(now, want, live, found)
			w.mu.Unlock()
		}
	}
}

// compareAgain is called when a comparison was interrupted. If the API server is busy
// now, waiting as long as after a complete comparison would leave the state unknown.
func (w *Watcher) compareAgain(k *kindWatch, now time.Time, err error) {
	if apierrors.IsForbidden(err) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k.compareAt = now.Add(idle)
}
