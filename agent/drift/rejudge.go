package drift

import "maps"

// RulesChanged judges all objects anew whose kinds users' rules judge now, or
// did before: their watches start over, whole where there is a rule now. What
// they knew stays until then.
func (w *Watcher) RulesChanged() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for gk, old := range w.kinds {
		next := w.newKindWatch(old.kind)
		if !old.custom && !next.custom && old.whole == next.whole {
			continue
		}
		next.objects, next.state, next.message, next.compareAt, next.settled = maps.Clone(old.objects), old.state, old.message, old.compareAt, old.settled
		next.judged = maps.Clone(old.judged)
		w.dropQuestionsLocked(old.kind)
		w.kinds[gk] = next
		if old.cancel != nil {
			old.cancel()
		}
		if w.ctx != nil {
			w.startLocked(next)
		}
	}
}
