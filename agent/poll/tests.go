package poll

import (
	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/agent/testrun"
)

// Tests runs the tests that come with services; *testrun.Runner implements it. None
// of its methods makes requests.
type Tests interface {
	// Want sets a service's tests, after a pass that wrote everything.
	Want(q testrun.Request)
	// Forget ends and removes the tests of a service that no longer has any, with its
	// permit.
	Forget(permit tenancy.Permit)
	// Stop ends what runs for a service that may no longer do it.
	Stop(service string)
	// Gate says what dependents of a service wait for, empty if nothing.
	Gate(service string) string
	// Problems says which tests failed.
	Problems(service string) []string
}

// wantTests passes the tests among the rendered objects to the runner.
func (l *Loop) wantTests(s *service, j *job, out outcome) {
	if l.config.Tests == nil || s.done == nil {
		return
	}
	service := apply.FromSpec(j.spec, "")
	l.config.Tests.Want(testrun.Request{
		Service: s.Id, Project: j.spec.GetProject(), Name: service.Name, Namespace: service.Namespace, Key: testrun.Key(out.inputs.TarballDigest, out.inputs.Parts, out.inputs.SpecDigest),
		Revision: s.applied.Revision, SourceRevision: s.applied.SourceRevision, TarballDigest: s.applied.TarballDigest, SpecDigest: s.applied.SpecDigest,
		Permit: out.permit, Enforced: service.EnforceNamespace, Scrub: service.Scrub, Tests: out.tests,
	})
}

// ReadyForTests reports whether a service is synced and healthy, and if not, what its
// tests wait for.
func (l *Loop) ReadyForTests(id string) (ready bool, why string) {
	l.mu.Lock()
	s := l.services[id]
	settled := s != nil && s.done != nil && s.result != nil && (s.result.Phase == apply.PhaseApplied || s.result.Phase == apply.PhasePruneHeld)
	held := s == nil || s.held || s.trouble != nil && s.trouble.Refused
	l.mu.Unlock()
	switch {
	case held:
		return false, "tests wait: the service is paused, refused or in no list"
	case !settled:
		return false, "tests wait for the end of the sync"
	}
	if state := health.RollUp(l.config.Watch.Components(l.config.Inventory.Objects(id))); state.Status != health.Healthy {
		return false, "tests wait until the service is Healthy; it is " + string(state.Status)
	}
	return true, ""
}
