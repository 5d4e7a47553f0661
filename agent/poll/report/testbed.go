//go:build testbed

package report

// Unsent reports whether a report is sent or has something to send.
func (r *Reporter) Unsent() bool {
	_, complete := r.cfg.Each(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sending || len(r.dirty)+len(r.gone) > 0 || r.whole && complete
}
