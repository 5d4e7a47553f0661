package pool

// Waiting returns how many wait for a place.
func (p *Places) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := 0
	for _, waiting := range p.waiting {
		all += len(waiting)
	}
	return all
}
