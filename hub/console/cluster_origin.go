package console

import (
	"cmp"
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
)

// GetTemplateVariables returns the schema that a form is made of.
func (s *clusters) GetTemplateVariables(ctx context.Context, r *connect.Request[hubv1.GetTemplateVariablesRequest]) (*connect.Response[hubv1.TemplateVariables], error) {
	commit, schema, err := s.config.Made.Variables(ctx, r.Msg.GetTemplate())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.TemplateVariables{Commit: commit, Schema: schema}), nil
}

// origin is nil for a cluster that was not made from a template.
func origin(v fleet.ClusterView) *hubv1.ClusterOrigin {
	o := v.Origin
	if !o.Known() {
		return nil
	}
	return &hubv1.ClusterOrigin{
		Template: o.Template, Commit: o.Commit, Version: o.Version, Variables: o.Variables, Given: cmp.Or(o.Given, o.Variables), ManagementCluster: o.Management, Service: o.Service, Namespace: o.Namespace, Destroying: o.Destroying,
		State: madeState(v.MadeState), Cleanup: cleanup(v), Replacements: replacements(v),
	}
}

func replacements(v fleet.ClusterView) (all []*hubv1.MachineReplacement) {
	for _, r := range v.Replacing {
		all = append(all, &hubv1.MachineReplacement{
			Machine: r.Machine, Uid: r.UID, Pool: r.Pool, RequestedBy: r.RequestedBy, RequestedAt: r.RequestedAt, Message: r.Message, EndedAt: r.EndedAt, Refused: r.Refused,
		})
	}
	return all
}

// cleanup is nil for a cluster that has none. An agent that is away is what it waits for.
func cleanup(v fleet.ClusterView) *hubv1.ClusterCleanup {
	c := v.Cleanup
	if c == nil {
		return nil
	}
	out := &hubv1.ClusterCleanup{StartedAt: c.StartedAt, ReportedAt: c.ReportedAt, EndedAt: c.EndedAt, More: int32(c.More), Message: c.Message, Forced: c.Forced}
	for _, l := range c.Left {
		out.Left = append(out.Left, &hubv1.CleanupObject{Kind: l.Kind, Namespace: l.Namespace, Name: l.Name, Message: l.Message, Since: l.Since})
	}
	switch away := v.Freshness != fleet.Fresh; {
	case !c.Running():
	case v.Pending:
		out.Message = "its agent waits for approval, so it removes nothing; axle clusters approve " + v.Name + " approves it, and axle clusters destroy " + v.Name + " --force goes on without it"
	case away:
		out.Message = "its agent does not poll, so nobody removes what the cluster holds at providers; axle clusters destroy " + v.Name + " --force goes on without it"
	case c.ReportedAt == 0:
		out.Message = "its agent has not reported yet what the cluster holds at providers"
	}
	return out
}

// madeState is nil before the first report.
func madeState(s fleet.MadeState) *hubv1.MadeState {
	if s.ReportedAt == 0 {
		return nil
	}
	out := &hubv1.MadeState{Phase: s.Phase, ControlPlane: madeMachines(s.ControlPlane), Message: s.Message, ReportedAt: s.ReportedAt, Unmet: s.Unmet}
	for _, pool := range s.Pools {
		out.Pools = append(out.Pools, madeMachines(pool))
	}
	out.MoreMachines = int32(s.MoreMachines)
	for _, m := range s.Machines {
		out.Machines = append(out.Machines, &hubv1.MadeMachine{Name: m.Name, Uid: m.UID, Pool: m.Pool, Phase: m.Phase, Node: m.Node, Version: m.Version, Message: m.Message, CreatedAt: m.CreatedAt})
	}
	for _, c := range s.Conditions {
		out.Conditions = append(out.Conditions, &hubv1.MadeCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, Since: c.Since})
	}
	return out
}

func madeMachines(m fleet.Machines) *hubv1.MadeMachines {
	return &hubv1.MadeMachines{Name: m.Name, Phase: m.Phase, Desired: int32(m.Desired), Ready: int32(m.Ready), UpToDate: int32(m.UpToDate), Versions: m.Versions}
}
