package poll

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/poll/queue"
	"github.com/axle-cd/axle/agent/poll/report"
	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/scrub"
)

// versioned is a Renderer of which only the version is asked.
type versioned struct{ Renderer }

func (versioned) RendererVersion() string { return "r1" }

func TestWhoIsWaitedForBeforeADelete(t *testing.T) {
	planned := func(s *service) { in := s.wanted("r1"); s.planned, s.inputs = &in, in }
	for name, test := range map[string]struct {
		change func(*service)
		// why is the reason for which others wait; empty if nobody waits.
		why string
		// asked: it is rendered to find out.
		asked bool
	}{
		"nothing was tried yet":       {change: func(*service) {}, why: "not been rendered"},
		"its objects are known":       {change: planned},
		"other content was rendered":  {change: func(s *service) { planned(s); s.want.TarballDigest = "t2"; s.desire(s.want); s.specFor = s.wantKey }, why: "not been rendered"},
		"it waits for a dependency":   {change: func(s *service) { s.gate = "waits" }, why: "not been rendered", asked: true},
		"it is paused":                {change: func(s *service) { s.held = true }, why: "not been rendered", asked: true},
		"it is paused, and was asked": {change: func(s *service) { s.held = true; planned(s) }},
		"it is in no list":            {change: func(s *service) { s.want = nil }},
		"its settings are not there":  {change: func(s *service) { s.spec = nil }, why: "settings"},
		"its source was never read":   {change: func(s *service) { s.want.TarballDigest = "" }, why: "source"},
		"it is the one that asks":     {change: func(s *service) { s.Id = "a" }},
		"it cannot be rendered": {change: func(s *service) {
			s.inputs, s.trouble = s.wanted("r1"), &report.Trouble{Source: report.SourceRender, Err: errcode.New(errcode.Invalid, "line 3: hunter22 is no map")}
		}, why: "line 3: [secret password] is no map"},
		"it could not be rendered before": {change: func(s *service) {
			planned(s)
			s.trouble = &report.Trouble{Source: report.SourceApply, Err: errors.New("the API server is away")}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Loop{config: Config{Render: versioned{}, Clock: clock.Real{}, Gate: tenancy.New(&rest.Config{}, "axle-system")}, work: make(chan struct{}, 1)}
			s := newService("b", &l.queue)
			s.name, s.spec = "heir", &agentv1.ServiceSpec{Id: "b", SpecDigest: "s1"}
			s.scrub = scrub.New(map[string]string{"password": "hunter22"})
			s.desire(&agentv1.DesiredService{Id: "b", TarballDigest: "t1", SpecDigest: "s1"})
			s.specFor = s.wantKey
			test.change(s)
			l.services = map[string]*service{s.Id: s}
			for range 2 { // the second answer may be remembered
				got := l.unsettled("a")
				if len(got) > 1 || (len(got) == 1) != (test.why != "") || len(got) == 1 && (got[0].Name != "heir" || !strings.Contains(got[0].Why, test.why)) {
					t.Errorf("waits for %+v, want %q", got, test.why)
				}
			}
			if s.claiming != test.asked || s.Due.IsZero() == test.asked {
				t.Errorf("it is rendered for that: %v, due %v", s.claiming, s.Due)
			}
		})
	}
}

// A service whose limits do not let it have an object is not waited for with it.
func TestLimitsSayWhoMayTakeAnObject(t *testing.T) {
	gate, all := tenancy.New(&rest.Config{}, "axle-system"), &queue.Queue{}
	kind, ref := kubeobj.Kind{Version: "v1", Kind: "ConfigMap", Namespaced: true}, kubeobj.Ref{Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	enforced := true
	for name, test := range map[string]struct {
		spec *agentv1.ServiceSpec
		want bool
	}{
		"no limits":                        {&agentv1.ServiceSpec{Namespace: "web"}, true},
		"an allowed namespace":             {&agentv1.ServiceSpec{Namespace: "web", Project: "team", Tenancy: &agentv1.Tenancy{Namespaces: []string{"shop"}}}, true},
		"another namespace":                {&agentv1.ServiceSpec{Namespace: "web", Project: "team", Tenancy: &agentv1.Tenancy{Namespaces: []string{"web"}}}, false},
		"another kind":                     {&agentv1.ServiceSpec{Namespace: "shop", Tenancy: &agentv1.Tenancy{Kinds: []string{"Secret"}}}, false},
		"its own namespace alone":          {&agentv1.ServiceSpec{Namespace: "web", SyncConfig: &agentv1.SyncConfig{EnforceNamespace: enforced}}, false},
		"its own namespace, which this is": {&agentv1.ServiceSpec{Namespace: "shop", SyncConfig: &agentv1.SyncConfig{EnforceNamespace: enforced}}, true},
	} {
		s := newService("b", all)
		s.specify(test.spec)
		s.desire(&agentv1.DesiredService{Id: "b", TarballDigest: "t1"})
		s.specFor = s.wantKey
		if got := takes(gate, s)(kind, ref); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
