package drift

import "maps"

// RulesChanged judges all objects again whose kinds have, or had, rules of users:
// their watches restart, with whole objects if there is a rule now. Until then the
// old health stays.
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
