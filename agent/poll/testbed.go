//go:build testbed

package poll

// Rest returns how many polls were answered, and what is under way: what was not done
// yet although nothing more has to come for it. It is empty if there is nothing; what is
// due later, such as the next try, is not under way.
func (l *Loop) Rest() (polls int, busy string) {
	hinted, unsent := l.hints.untaken(), l.report.Unsent()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.status.Err != nil:
		busy = "the hub: " + l.status.Err.Error()
	case !l.loaded:
		busy = "the inventories are read"
	case l.specsComing:
		busy = "specs are on their way"
	case hinted:
		busy = "hints wait"
	case l.busyLocked(l.config.Clock.Now()):
		busy = "a pass runs or is due"
	case unsent != "":
		busy = unsent
	}
	return l.polls, busy
}

// untaken reports whether there are hints.
func (h *hints) untaken() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.taken.Touched)+len(h.taken.News)+len(h.taken.NeedPass) > 0 || h.taken.APIs
}
