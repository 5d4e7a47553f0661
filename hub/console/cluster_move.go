package console

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// ofClusterMove requires changing the cluster, creating in the project that it moves to,
// and reading all that its services then use from other projects: what moving each of
// them needs.
func ofClusterMove(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	m := message.(*hubv1.MoveClusterRequest)
	permissions, err := ofCluster(ctx, s, action, message)
	if err != nil {
		return nil, err
	}
	in, err := one(s.projectPermission(ctx, identity.ActionCreate, m.GetProject()))
	if permissions = append(permissions, in...); err != nil {
		return permissions, err
	}
	services, err := s.config.Fleet.MovesWith(ctx, m.GetName())
	if err != nil {
		return permissions, err
	}
	for _, v := range services {
		c := &specCall{Server: s, ref: &hubv1.ServiceRef{Cluster: v.Cluster, Name: v.Name}, before: v, after: v.Spec, projectID: in[0].scope.Project, moved: true}
		for _, find := range []func(context.Context) ([]permission, error){c.valueSets, c.clusters} {
			more, err := find(ctx)
			if permissions = append(permissions, more...); err != nil {
				return permissions, err
			}
		}
	}
	return permissions, nil
}

// Move puts a cluster into another project, or returns what that would change.
func (s *clusters) Move(ctx context.Context, r *connect.Request[hubv1.MoveClusterRequest]) (*connect.Response[hubv1.MoveClusterResponse], error) {
	if r.Msg.GetProject() == "" {
		return nil, errcode.New(errcode.Invalid, "project: name the project to move to")
	}
	changes, err := s.config.Fleet.MoveCluster(ctx, caller(ctx).By(), fleet.ClusterMove{
		Name: r.Msg.GetName(), Project: r.Msg.GetProject(), Plan: r.Msg.GetPlan(), Confirm: r.Msg.GetConfirm(),
		Also: func(ctx context.Context, before, after fleet.Cluster) ([]fleet.MoveChange, error) {
			return s.moving(ctx, before, after, r.Msg.GetPlan())
		},
	})
	if err != nil {
		return nil, err
	}
	v, err := s.config.Fleet.Cluster(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	out := &hubv1.MoveClusterResponse{Cluster: s.cluster(v)}
	for _, c := range changes {
		out.Changes = append(out.Changes, &hubv1.MoveChange{Kind: c.Kind, Object: c.Object, Message: c.Message, Deletes: c.Deletes})
	}
	return connect.NewResponse(out), nil
}

// moving returns what changes beside a cluster and its services, and ends the cluster's
// bootstrap tokens: who made one may have no rights on the cluster afterwards, and could
// register an agent of their own.
func (s *clusters) moving(ctx context.Context, before, after fleet.Cluster, plan bool) ([]fleet.MoveChange, error) {
	if err := s.config.Made.Moving(ctx, before, after); err != nil {
		return nil, err
	}
	changes, err := s.config.Globals.Moving(ctx, before, after)
	if err != nil {
		return nil, err
	}
	bindings, err := s.movedBindings(ctx, before, after)
	if err != nil {
		return nil, err
	}
	n, err := s.config.AgentKeys.EndBootstrapTokens(ctx, before.ID, plan)
	if changes = append(changes, bindings...); n > 0 {
		changes = append(changes, fleet.MoveChange{Kind: "token", Object: fmt.Sprintf("%d bootstrap token(s)", n), Message: "end; axle clusters create --renew-token makes a new one"})
	}
	return changes, err
}

// movedBindings returns the role bindings whose rights on a cluster end and begin when it
// moves. Only administrators see those of a project; to others the answer says nothing.
func (s *clusters) movedBindings(ctx context.Context, before, after fleet.Cluster) (changes []fleet.MoveChange, err error) {
	if s.config.Identity.Authorize(ctx, caller(ctx), identity.ActionAdmin, identity.Scope{}) != nil {
		return nil, nil
	}
	from, to := identity.ForAdministrators(before.ProjectID), identity.ForAdministrators(after.ProjectID)
	add := func(level identity.Level, id, message string) error {
		all, err := s.config.Identity.BindingsAt(ctx, level, id)
		for _, b := range all {
			changes = append(changes, fleet.MoveChange{Kind: "binding", Object: fmt.Sprintf("%s of %s %s", b, b.SubjectKind, b.Subject), Message: message})
		}
		return err
	}
	if !from {
		err = add(identity.LevelProject, before.ProjectID, "gives no rights on the cluster any more")
	}
	if err == nil && !to {
		err = add(identity.LevelProject, after.ProjectID, "gives rights on the cluster")
	}
	if err != nil || from == to {
		return changes, err
	}
	message := "gives no rights on the cluster any more: only administrators have rights in project " + after.Project
	if from {
		message = "gives rights on the cluster"
	}
	if err := add(identity.LevelHub, "", message); err != nil {
		return changes, err
	}
	return changes, add(identity.LevelCluster, before.ID, message)
}
