//go:build testbed

package report

import "fmt"

// Unsent returns what is sent or is to be sent; empty if there is nothing.
func (r *Reporter) Unsent() string {
	_, complete := r.cfg.Each(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.gone) > 0:
		return fmt.Sprintf("%d tombstones are to be reported", len(r.gone))
	case r.whole && complete:
		return "everything is to be reported"
	case len(r.dirty) > 0:
		return fmt.Sprintf("%d statuses are to be reported", len(r.dirty))
	case r.sending:
		return "a report is sent"
	}
	return ""
}
