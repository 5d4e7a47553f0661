package readiness_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

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
	report, err := readiness.New(conf, nothing{}, nil).Report(t.Context(), readiness.Viewer{User: "ann@example.com", Allowed: func(string) bool { return true }}, "1.37")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"version": true, "applied": true, "requested": false, "releases": false, "addons": false, "charts": true, "budgets": false, "nodes": false}
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

// A report that takes its time is one person's: another gets theirs meanwhile.
func TestAReportHoldsNobodyElseUp(t *testing.T) {
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	var versions atomic.Int32
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			http.NotFound(w, r)
			return
		}
		if versions.Add(1) == 1 {
			asked <- struct{}{}
			<-answer
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"gitVersion": "v1.36.3"}`))
	}))
	defer slow.Close()
	c := readiness.New(&rest.Config{Host: slow.URL, QPS: -1}, nothing{}, nil)
	report := func(user string) error {
		_, err := c.Report(t.Context(), readiness.Viewer{User: user, Allowed: func(string) bool { return true }}, "1.37")
		return err
	}
	first := make(chan error, 1)
	go func() { first <- report("ann@example.com") }()
	<-asked
	if err := report("bob@example.com"); err != nil {
		t.Error(err)
	}
	close(answer)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
