// Package configtest holds the contract tests for backends: what hub/config
// requires of every backend. The tests of each backend run them.
package configtest

import (
	"maps"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/internal/errcode"
)

// Subject is a backend under test.
type Subject struct {
	config.Backend
	// Prefix is the prefix of the paths that the tests use.
	Prefix string
	// Away makes the store unavailable, or available again; nil when that is
	// not possible.
	Away func(away bool)
}

// secret is the value that no error may contain.
const secret = "canary-5f1e0c \"quoted\" \\ ü\n<&>"

// Contract runs every test on one subject.
func Contract(t *testing.T, s Subject) {
	t.Helper()
	tests := map[string]func(*testing.T, Subject){
		"missing": missing, "round trip": roundTrip, "limit": limit, "paths": paths, "away": away,
	}
	for _, name := range []string{"missing", "round trip", "limit", "paths", "away"} {
		t.Run(name, func(t *testing.T) { tests[name](t, s) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func missing(t *testing.T, s Subject) {
	must(t, s.Check(t.Context()))
	if _, err := s.Read(t.Context(), s.Prefix+"missing"); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("of nothing: %v", err)
	}
	must(t, s.Delete(t.Context(), s.Prefix+"missing"))
}

func roundTrip(t *testing.T, s Subject) {
	path := s.Prefix + "round"
	for _, values := range []map[string]string{
		{"document": secret},
		{"a": "1", "b.c": "", "d": `{"json":true}`},
		{"document": "second"},
	} {
		must(t, s.Write(t.Context(), path, values))
		if got, err := s.Read(t.Context(), path); err != nil || !maps.Equal(got, values) {
			t.Errorf("wrote %q, read %q, %v", values, got, err)
		}
	}
	must(t, s.Delete(t.Context(), path))
	if _, err := s.Read(t.Context(), path); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("after it was deleted: %v", err)
	}
	must(t, s.Delete(t.Context(), path))
	must(t, s.Write(t.Context(), path, map[string]string{"again": "yes"}))
	if got, err := s.Read(t.Context(), path); err != nil || got["again"] != "yes" {
		t.Errorf("after it was written again: %v, %v", got, err)
	}
	must(t, s.Delete(t.Context(), path))
}

// limit writes the longest part of a document, of characters that JSON escapes.
func limit(t *testing.T, s Subject) {
	if s.Limit() <= 0 {
		t.Fatal("it takes nothing")
	}
	path, values := s.Prefix+"long", map[string]string{"document": strings.Repeat(`"\`, s.Limit()/2)}
	must(t, s.Write(t.Context(), path, values))
	if got, err := s.Read(t.Context(), path); err != nil || !maps.Equal(got, values) {
		t.Errorf("%d bytes came back, %v", len(got["document"]), err)
	}
	must(t, s.Delete(t.Context(), path))
}

func paths(t *testing.T, s Subject) {
	for _, path := range []string{"", "..", "../../sys/policy/x", "a/../b", "a//b", "a\x00b"} {
		if _, err := s.Read(t.Context(), path); !errcode.Is(err, errcode.Invalid) && !errcode.Is(err, errcode.NotFound) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func away(t *testing.T, s Subject) {
	if s.Away == nil {
		return
	}
	path := s.Prefix + "away"
	must(t, s.Write(t.Context(), path, map[string]string{"k": secret}))
	s.Away(true)
	_, readErr := s.Read(t.Context(), path)
	for what, err := range map[string]error{
		"read": readErr, "write": s.Write(t.Context(), path, map[string]string{"k": secret}),
		"delete": s.Delete(t.Context(), path), "check": s.Check(t.Context()),
	} {
		if !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("%s: %v", what, err)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the error holds the value: %v", what, err)
		}
	}
	s.Away(false)
	if got, err := s.Read(t.Context(), path); err != nil || got["k"] != secret {
		t.Errorf("after it came back: %q, %v", got, err)
	}
	must(t, s.Delete(t.Context(), path))
}
