package console

import (
	"context"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// globalPermission is an action on a global service. One of all projects is in the
// hub as a whole.
func (s *Server) globalPermission(ctx context.Context, action identity.Action, name string) (permission, globals.Global, error) {
	g, err := s.config.Globals.Get(ctx, name)
	return placed(action, g, "global service", "globalservices", name), g, err
}

func placed(action identity.Action, g globals.Global, kind, noun, name string) permission {
	n := permission{
		action: action, scope: g.Scope(), what: kind + " " + name,
		missing: errcode.New(errcode.NotFound, "%s %.80q does not exist; axle %s list shows the existing ones", kind, name, noun),
	}
	if g.Project != "" {
		n.flag = flag("project", g.Project)
	}
	return n
}

func ofGlobal(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	n, _, err := s.globalPermission(ctx, action, message.(interface{ GetName() string }).GetName())
	return one(n, err)
}

// namespacePermission is the same for a managed namespace; it returns its service.
func (s *Server) namespacePermission(ctx context.Context, action identity.Action, name string) (permission, globals.Global, error) {
	n, err := s.config.Namespaces.Get(ctx, name)
	if n.Core != nil {
		n.Global.Spec = n.Core.Spec
	}
	return placed(action, n.Global, "managed namespace", "namespaces", name), n.Global, err
}

func ofNamespace(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	n, _, err := s.namespacePermission(ctx, action, message.(interface{ GetName() string }).GetName())
	return one(n, err)
}

// ofTemplate finds the needs of a global service, or of a managed namespace with a
// service: to change it, or to create things in its project, which covers every cluster
// that it can select. Without a project it selects clusters of all projects, so it needs
// the whole hub. What its template uses is checked as for a service.
func ofTemplate(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	var at permission
	var before globals.Global
	var template *hubv1.ServiceSpec
	var project string
	var err error
	switch m := message.(type) {
	case *hubv1.ApplyGlobalServiceRequest:
		template, project = m.GetSpec(), m.GetSettings().GetProject()
		at, before, err = s.globalPermission(ctx, action, m.GetName())
	case *hubv1.ApplyManagedNamespaceRequest:
		template, project = m.GetSpec(), m.GetSettings().GetProject()
		at, before, err = s.namespacePermission(ctx, action, m.GetName())
	}
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return nil, err
	}
	exists := err == nil
	in := permission{action: identity.ActionCreate, what: "every project"}
	if project != "" {
		if in, err = s.projectPermission(ctx, identity.ActionCreate, project); err != nil {
			_, err = one(in, err)
			return needed(exists, at), err
		}
	}
	permissions := needed(exists, at)
	moved := !exists || in.scope.Project != before.ProjectID
	if moved {
		permissions = append(permissions, in)
	}
	c := &specCall{Server: s, ref: &hubv1.ServiceRef{}, after: specOf(template), before: fleet.Service{Spec: before.Spec}, projectID: in.scope.Project, moved: moved}
	if c.projectID == "" {
		c.projectID = fleet.DefaultProjectID
	}
	for _, find := range []func(context.Context) ([]permission, error){c.valueSets, c.clusters} {
		more, err := find(ctx)
		if permissions = append(permissions, more...); err != nil {
			return permissions, err
		}
	}
	return permissions, nil
}

// needed is the permission on an object that exists.
func needed(exists bool, at permission) []permission {
	if !exists {
		return nil
	}
	return []permission{at}
}
