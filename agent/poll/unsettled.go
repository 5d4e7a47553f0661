package poll

// unsettled names a service, other than id, that the list gives something new
// to do and that has not tried it yet; empty when there is none. Until then
// nobody knows which objects it wants, and none may be deleted that it could
// take over. Services that wait for a person or for a dependency, or that
// tried and failed, are not waited for.
func (l *Loop) unsettled(id string) string {
	renderer := l.Render.RendererVersion()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.allSettled && l.settledBy == renderer {
		return ""
	}
	own := false
	for _, s := range l.services {
		switch {
		case !l.isUnsettled(s, renderer):
		case s.id == id:
			own = true
		default:
			return s.name
		}
	}
	// The next one that asks need not look through all, until something is new.
	l.allSettled, l.settledBy = !own, renderer
	return ""
}

func (l *Loop) isUnsettled(s *service, renderer string) bool {
	switch {
	case s.want == nil || s.held || s.gate != "":
		return false
	case s.spec == nil || !s.specFits():
		return s.trouble == nil
	}
	wanted := s.wanted(renderer)
	return Changed(s.done, wanted) != Unchanged && Changed(&s.inputs, wanted) != Unchanged
}
