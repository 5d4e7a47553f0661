package console

import (
	"context"
	"errors"
	"slices"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

type accessCalls struct{ *Server }

// askable are the actions that a caller may ask about.
var askable = []identity.Action{identity.ActionRead, identity.ActionWrite, identity.ActionCreate, identity.ActionGit, identity.ActionAdmin}

// CanI tells whether the caller may do an action on an object; administrators
// may ask about other users. For an object that the caller may not see, it
// answers as if the object did not exist.
func (s *accessCalls) CanI(ctx context.Context, r *connect.Request[hubv1.CanIRequest]) (*connect.Response[hubv1.CanIResponse], error) {
	action := identity.Action(r.Msg.GetAction())
	if !slices.Contains(askable, action) {
		return nil, errcode.New(errcode.Invalid, "action %.40q is not known; use read, write, create, git or admin", action)
	}
	who, whoAsks := caller(ctx), caller(ctx)
	if as := r.Msg.GetAs(); as != "" && as != who.Name {
		if err := s.config.Identity.Authorize(ctx, whoAsks, identity.ActionAdmin, identity.Scope{}); err != nil {
			return nil, err
		}
		u, err := s.config.Identity.UserByName(ctx, as)
		if err != nil {
			return nil, err
		}
		who = identity.Principal{Kind: u.Kind, ID: u.ID, Name: u.Name, Admin: u.Admin, Scopes: []string{identity.ScopeAdmin}}
	}
	scope, level, _, name, err := s.place(ctx, r.Msg.GetPlace())
	hidden := errcode.Is(err, errcode.NotFound)
	if err != nil && !hidden {
		return nil, err
	}
	if hidden && s.config.Identity.Authorize(ctx, whoAsks, identity.ActionRead, identity.Scope{}) == nil {
		return nil, err
	}
	out := &hubv1.CanIResponse{}
	d := identity.Decision{Err: errcode.New(errcode.Forbidden, "%s may not %s here: %w", who.Name, action, identity.ErrNoBinding)}
	if !hidden {
		d = s.config.Identity.Decide(ctx, who, action, scope)
	}
	switch {
	case errors.Is(d.Err, identity.ErrNoBinding):
		place := "--global"
		if level != identity.LevelHub {
			place = flag(string(level), name)
		}
		out.Reason = "no role binding gives it; an administrator does with: " + who.BindCommand(action, place)
	case d.Err != nil:
		out.Reason = errcode.Message(d.Err)
	case d.Admin:
		out.Allowed, out.Reason = true, who.Name+" is an administrator"
	default:
		out.Allowed, out.Binding = true, binding(d.Binding)
		whose := string(d.Binding.SubjectKind) + " " + d.Binding.Subject
		if d.Binding.SubjectKind == identity.KindUser || d.Binding.SubjectKind == identity.KindServiceAccount {
			whose = d.Binding.Subject
		}
		out.Reason = "binding " + d.Binding.ID + " gives " + whose + " " + d.Binding.String()
	}
	return connect.NewResponse(out), nil
}
