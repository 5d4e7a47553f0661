package poll

import (
	"errors"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// versioned is a Renderer of which only the version is asked.
type versioned struct{ Renderer }

func (versioned) RendererVersion() string { return "r1" }

func TestWhoIsWaitedForBeforeADelete(t *testing.T) {
	spec := &agentv1.ServiceSpec{Id: "b", SpecDigest: "s1"}
	for name, test := range map[string]struct {
		change func(*service)
		waited bool
	}{
		"nothing was tried yet":      {change: func(*service) {}, waited: true},
		"it was tried as it is now":  {change: func(s *service) { s.inputs = s.wanted("r1") }},
		"it is applied as it is now": {change: func(s *service) { done := s.wanted("r1"); s.done = &done }},
		"other content was tried": {change: func(s *service) {
			s.inputs = s.wanted("r1")
			s.want.TarballDigest = "t2"
			s.desire(s.want)
			s.specFor = s.wantKey
		}, waited: true},
		"it waits for a dependency":      {change: func(s *service) { s.gate = "waits" }},
		"it is paused":                   {change: func(s *service) { s.held = true }},
		"it is in no list":               {change: func(s *service) { s.want = nil }},
		"its settings are not there":     {change: func(s *service) { s.spec = nil }, waited: true},
		"its settings cannot be had":     {change: func(s *service) { s.spec, s.trouble = nil, &trouble{source: sourceAgent, err: errors.New("away")} }},
		"it is the one that asks for it": {change: func(s *service) { s.id = "a" }},
		"it failed, as it is now, to apply": {change: func(s *service) {
			s.inputs, s.trouble = s.wanted("r1"), &trouble{source: sourceApply, err: errors.New("no")}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Loop{Config: Config{Render: versioned{}}}
			s := newService("b", &l.agenda)
			s.name, s.spec = "heir", spec
			s.desire(&agentv1.DesiredService{Id: "b", TarballDigest: "t1", SpecDigest: "s1"})
			s.specFor = s.wantKey
			test.change(s)
			l.services = map[string]*service{s.id: s}
			for range 2 { // the second answer may be remembered
				if got := l.unsettled("a"); (got != "") != test.waited {
					t.Errorf("waits for %q", got)
				}
			}
		})
	}
}
