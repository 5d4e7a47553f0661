package poll

import (
	"fmt"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/poll/content"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// gate names the dependency on this cluster that a service waits for, empty if it
// waits for none. The agent itself decides this, so it also applies while the hub is
// unavailable; the hub gates dependencies on other clusters.
func (l *Loop) gate(s *service) string {
	for _, d := range s.spec.GetDependencies() {
		if d.GetCluster() != "" {
			continue
		}
		if why := l.waitsFor(d, s); why != "" {
			return why
		}
	}
	return ""
}

func (l *Loop) waitsFor(d *agentv1.Dependency, s *service) string {
	for _, o := range l.named[d.GetName()] {
		if o.want == nil || o.Id == s.Id {
			continue
		}
		applied, _ := l.config.Inventory.State(o.Id)
		switch {
		case o.spec.GetDryRun():
			return fmt.Sprintf("waits for service %q, which is on a dry run", o.name)
		case o.done != nil && applied.Hooks != "":
			return fmt.Sprintf("waits for service %q, whose hook %s has not ended", o.name, applied.Hooks)
		case o.done == nil:
			return fmt.Sprintf("waits for service %q, which is not applied yet", o.name)
		case o.spec != nil && !content.Same(o.done, o.want):
			return fmt.Sprintf("waits for service %q, which has a newer revision to apply", o.name)
		}
		state := health.RollUp(l.config.Watch.Components(l.config.Inventory.Objects(o.Id)))
		if state.Status != health.Healthy {
			return fmt.Sprintf("waits for service %q, which is %s", o.name, state.Status)
		}
		if l.config.Tests != nil {
			if why := l.config.Tests.Gate(o.Id); why != "" {
				return fmt.Sprintf("waits for service %q, %s", o.name, why)
			}
		}
		return ""
	}
	return fmt.Sprintf("waits for service %q, which is not on this cluster", d.GetName())
}

// waitGate records that a service waits, so that changes of its dependency find it.
func (l *Loop) waitGate(s *service) {
	for _, d := range s.spec.GetDependencies() {
		if d.GetCluster() != "" {
			continue
		}
		if l.gated[d.GetName()] == nil {
			l.gated[d.GetName()] = map[string]bool{}
		}
		l.gated[d.GetName()][s.Id] = true
		s.gatedBy = append(s.gatedBy, d.GetName())
	}
}

// ungate removes the record.
func (l *Loop) ungate(s *service) {
	for _, name := range s.gatedBy {
		if delete(l.gated[name], s.Id); len(l.gated[name]) == 0 {
			delete(l.gated, name)
		}
	}
	s.gatedBy = nil
}

// dependent names a remaining service that depends on this one.
func (l *Loop) dependent(s *service) string {
	for _, o := range l.services {
		if o.want == nil || o.spec == nil {
			continue
		}
		for _, d := range o.spec.GetDependencies() {
			if d.GetCluster() == "" && d.GetName() == s.name {
				return o.name
			}
		}
	}
	return ""
}
