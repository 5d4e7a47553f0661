//go:build testbed

package hint

// Untaken reports whether there are hints.
func (h *Hints) Untaken() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.taken.Touched)+len(h.taken.News)+len(h.taken.NeedPass) > 0 || h.taken.APIs
}
