package drift

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// healLimit bounds one call of the owner.
	healLimit = time.Minute
	// renderWait is how long to wait for a service that must be rendered first.
	renderWait = 30 * time.Second
	// healersEach is how many services of one project are healed together.
	healersEach = 2
)

// heal asks the owner to heal what decide found: some objects of one service at a time, and
// services of several projects together, so that an API that is slow to answer for one
// project holds up no other.
func (w *Watcher) heal(ctx context.Context) {
	for ctx.Err() == nil {
		service, place := w.nextHeal()
		if service == "" {
			select {
			case <-ctx.Done():
			case <-w.healWake:
			}
			continue
		}
		refs := w.beginHeal(service)
		w.running.Go(func() {
			defer w.endHeal(service, place)
			if w.heals.WaitN(ctx, len(refs)) == nil {
				w.healService(ctx, service, refs)
			}
		})
	}
}

// nextHeal returns a service with objects to heal and its place, empty if there is none
// whose project has room: projects have turns.
func (w *Watcher) nextHeal() (service string, place *pool.Held) {
	w.mu.Lock()
	var services []string
	for id := range w.healing {
		if !w.beingHealed[id] {
			services = append(services, id)
		}
	}
	w.mu.Unlock()
	var callers []pool.Caller
	of := map[string]string{}
	for _, id := range services {
		project := w.cfg.Project(id)
		callers, of[project] = append(callers, pool.Caller{Name: project}), id
	}
	project, place := w.healers.Next(callers)
	return of[project.Name], place
}

// beginHeal takes some objects of a service off the queue.
func (w *Watcher) beginHeal(service string) (refs []kubeobj.Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beingHealed[service] = true
	for ref := range w.healing[service] {
		if len(refs) == healRate {
			return refs
		}
		delete(w.healing[service], ref)
		refs = append(refs, ref)
	}
	delete(w.healing, service)
	return refs
}

func (w *Watcher) endHeal(service string, place *pool.Held) {
	place.Leave()
	w.mu.Lock()
	delete(w.beingHealed, service)
	w.mu.Unlock()
	poke(w.healWake)
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
