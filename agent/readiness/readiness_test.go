package readiness_test

import (
	"testing"

	"github.com/axle-cd/axle/agent/readiness"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/kube"
)

// nothing is the inventory of an agent without services.
type nothing struct{}

func (nothing) Services() []string                { return nil }
func (nothing) Objects(string) []kubeobj.Expected { return nil }

// An agent with few rights must not pass for one that found nothing.
func TestWhatTheAgentMayNotReadIsIncomplete(t *testing.T) {
	conf, err := kube.Shared(t).ConfigFor("axle-agent-of-few-rights")
	if err != nil {
		t.Fatal(err)
	}
	report, err := readiness.New(conf, nothing{}).Report(t.Context(), readiness.Viewer{User: "ann@example.com", Allowed: func(string) bool { return true }}, "1.37")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"version": true, "applied": true, "requested": false, "releases": false, "addons": false, "budgets": false, "nodes": false}
	for _, one := range report.GetChecks() {
		if complete, known := want[one.GetName()]; !known || complete != (one.GetIncomplete() == "") {
			t.Errorf("%s: incomplete because %q", one.GetName(), one.GetIncomplete())
		}
		delete(want, one.GetName())
	}
	if len(want) > 0 {
		t.Errorf("no checks of %v", want)
	}
}
