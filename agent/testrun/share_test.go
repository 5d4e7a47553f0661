package testrun_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/agent/testrun"
	"github.com/axle-cd/axle/internal/eventually"
)

// However many services of a guest have tests that do not end, another project's run meanwhile.
func TestAGuestsTestsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	request := func(service, project, script string) testrun.Request {
		return testrun.Request{Service: service, Project: project, Name: service, Namespace: s.namespace, Permit: s.permit(func(r *tenancy.Request) { r.Service = service }), Key: "k", Tests: []*unstructured.Unstructured{s.job(service, script)}}
	}
	for n := range 6 {
		s.runner.Want(request(fmt.Sprint("guest-", n), "guest", waitFor("never")))
	}
	running := func() (n int) {
		for id := range 6 {
			if s.hub.run(fmt.Sprint("guest-", id)).GetState() == "Running" {
				n++
			}
		}
		return n
	}
	eventually.For(t, within, "the guest's tests run", func() error {
		if n := running(); n != 4 {
			return fmt.Errorf("%d run", n)
		}
		return nil
	})
	s.runner.Want(request("shop", "shop", "echo hello"))
	eventually.For(t, within, "the other project's tests run", func() error {
		if run := s.hub.run("shop"); run.GetState() != "Passed" {
			return fmt.Errorf("%v", run)
		}
		return nil
	})
	if n := running(); n != 4 {
		t.Errorf("%d of the guest's tests run", n)
	}
	for n := range 6 {
		s.runner.Stop(fmt.Sprint("guest-", n))
	}
}
