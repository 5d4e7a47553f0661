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
	for _, s := range l.services {
		if s.id == id || s.want == nil || s.held || s.gate != "" {
			continue
		}
		if s.spec == nil || !s.specFits() {
			if s.trouble == nil {
				return s.name
			}
			continue
		}
		if wanted := s.wanted(renderer); Changed(s.done, wanted) != Unchanged && Changed(&s.inputs, wanted) != Unchanged {
			return s.name
		}
	}
	return ""
}
