package console

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// permission is one action that a call wants to do on one object.
type permission struct {
	action identity.Action
	scope  identity.Scope
	// what names the object for people, "cluster edge-1", and flag is the flag
	// of the command that gives access, "--cluster edge-1".
	what, flag string
	// missing is the error for a caller who may not even read the object: the
	// same as if it did not exist.
	missing error
}

// finder returns what the call needs, given its request. The action is the one
// of the call's rule. Together with an error it returns the needs that were
// found before it: a caller who lacks those must not learn of the error.
type finder func(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error)

// widens lists calls whose fields may require more than their action. Their
// needs are checked for administrators too, whose token may lack the scope.
var widens = map[string]bool{hubv1connect.RepositoriesCreateProcedure: true, hubv1connect.RepositoriesUpdateProcedure: true}

// allow is the only place that authorizes a person's call. Administrators pass
// without a check of the object, unless the call is in widens.
func (s *Server) allow(ctx context.Context, p identity.Principal, procedure string, message any) error {
	decided := s.decide(ctx, p, procedure)
	if decided.final {
		return decided.Err
	}
	permissions, err := scopes[procedure](ctx, s, access[procedure], message)
	for _, n := range permissions {
		if err := s.may(ctx, p, n); err != nil {
			return err
		}
	}
	return err
}

// withoutObject returns the error of a caller who may not make a call, whatever it is
// about; early asks it before the message is read.
func (s *Server) withoutObject(ctx context.Context, p identity.Principal, procedure string) error {
	if decided := s.decide(ctx, p, procedure); decided.final {
		return decided.Err
	}
	action := access[procedure]
	_, err := s.config.Identity.Reach(ctx, p, action)
	if err != nil && action == identity.ActionWrite {
		// Whoever may create things may apply and put what does not exist.
		if _, without := s.config.Identity.Reach(ctx, p, identity.ActionCreate); without == nil {
			return nil
		}
	}
	return err
}

// decision is that about a call of which only the name is known.
type decision struct {
	identity.Decision
	// final is set when the object of the call does not change it.
	final bool
}

func (s *Server) decide(ctx context.Context, p identity.Principal, procedure string) decision {
	action, listed := access[procedure]
	if !listed {
		return decision{identity.Decision{Err: errcode.New(errcode.Forbidden, "call %s has no access rule and is refused", procedure)}, true}
	}
	found, hub := scopes[procedure] != nil, identity.Scope{}
	if found {
		hub.Project = p.Project
	}
	decided := s.config.Identity.Decide(ctx, p, action, hub)
	if decided.Err == nil {
		return decision{decided, !found || decided.Admin && p.Project == "" && !widens[procedure]}
	}
	// A caller without any access gets the same answer for every name.
	return decision{decided, !found || !errors.Is(decided.Err, identity.ErrNoBinding) || errors.Is(decided.Err, identity.ErrNoAccess)}
}

// may returns nil when the caller may do what is needed, the not-found error when the
// caller may not read the object, and otherwise an error that says how to get access.
func (s *Server) may(ctx context.Context, p identity.Principal, n permission) error {
	err := s.config.Identity.Authorize(ctx, p, n.action, n.scope)
	if err == nil {
		return nil
	}
	if errors.Is(err, identity.ErrNoAccess) {
		return err
	}
	if n.missing != nil && s.config.Identity.Authorize(ctx, p, identity.ActionRead, n.scope) != nil {
		return n.missing
	}
	if !errors.Is(err, identity.ErrNoBinding) || n.flag == "" {
		return err
	}
	return errcode.New(errcode.Forbidden, "%s may not %s %s: no role binding gives it; an administrator does with: %s", p.Name, verbs[n.action], n.what, p.BindCommand(n.action, n.flag))
}

// fleetWide reports whether the caller may write the whole hub, as global services of all
// projects need: for the few fields that count only then. An administrator may, and so may
// the operator's own account; calls that need a right are listed in access.
func (s *Server) fleetWide(ctx context.Context) bool {
	return s.config.Identity.Authorize(ctx, caller(ctx), identity.ActionWrite, identity.Scope{}) == nil
}

// verbs are the verbs of the actions in error texts.
var verbs = map[identity.Action]string{
	identity.ActionRead: "read", identity.ActionWrite: "change", identity.ActionCreate: "create things in", identity.ActionGit: "change repositories and webhooks of",
}

// readable returns what the caller may read, for lists. For an administrator that
// is the whole hub.
func (s *Server) readable(ctx context.Context) (identity.Reach, error) {
	return s.config.Identity.Reach(ctx, caller(ctx), identity.ActionRead)
}

// anywhere is for calls whose handlers show only what the caller may see: it
// requires only that the caller may see something.
func anywhere(ctx context.Context, s *Server, action identity.Action, _ any) ([]permission, error) {
	_, err := s.config.Identity.Reach(ctx, caller(ctx), action)
	return nil, err
}

// flag formats a flag, with the value quoted where a shell would split it.
func flag(name, value string) string {
	if strings.ContainsAny(value, " '\"$`\\;&|<>()*?\n") {
		value = fmt.Sprintf("%q", value)
	}
	return "--" + name + " " + value
}
