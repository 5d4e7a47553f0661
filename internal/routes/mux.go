// Package routes is a ServeMux that records its patterns, so that a test can compare
// every route of a process with a list. The hub registers all its routes in one Mux;
// functions that add routes take an Adder.
//
// Patterns are recorded before the first request; a Mux does not change while it
// serves.
package routes

import (
	"net/http"
	"slices"
)

// Adder accepts routes: a Mux, or a plain http.ServeMux.
type Adder interface {
	Handle(pattern string, handler http.Handler)
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}

// Mux routes by pattern, as http.ServeMux does, and knows its patterns. Its zero
// value is empty.
type Mux struct {
	mux      http.ServeMux
	early    []early
	patterns []string
}

type early struct {
	owns    func(path string) bool
	handler http.Handler
}

var (
	_ Adder = (*Mux)(nil)
	_ Adder = (*http.ServeMux)(nil)
)

// Handle adds a pattern of http.ServeMux.
func (m *Mux) Handle(pattern string, handler http.Handler) {
	m.mux.Handle(pattern, handler)
	m.patterns = append(m.patterns, pattern)
}

// HandleFunc adds a pattern of http.ServeMux.
func (m *Mux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(handler))
}

// Early sends paths for which owns is true to a handler before any pattern is
// matched: http.ServeMux allocates, and handles paths with // and .. itself. The
// handler's own patterns are given for the record. Handlers are tried in the order in
// which they were added.
func (m *Mux) Early(owns func(path string) bool, handler http.Handler, patterns ...string) {
	m.early = append(m.early, early{owns, handler})
	m.patterns = append(m.patterns, patterns...)
}

// ServeHTTP answers a request.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for i := range m.early {
		if m.early[i].owns(r.URL.Path) {
			m.early[i].handler.ServeHTTP(w, r)
			return
		}
	}
	m.mux.ServeHTTP(w, r)
}

// Patterns returns everything that was added, sorted.
func (m *Mux) Patterns() []string { return slices.Sorted(slices.Values(m.patterns)) }
