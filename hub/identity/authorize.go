package identity

import (
	"context"
	"errors"
	"fmt"

	"github.com/axle-cd/axle/internal/errcode"
)

// Action is what a caller wants to do.
type Action string

// The actions that bindings give, on projects and what is in them. Writing
// implies reading and creating.
const (
	ActionRead   Action = "read"
	ActionWrite  Action = "write"
	ActionCreate Action = "create"
	// ActionGit is about repositories and their webhooks.
	ActionGit Action = "git"
)

// The actions that no binding gives. ActionAdmin is about the hub itself,
// ActionDeliver is what agents do for their own cluster, and ActionSelf is what
// people do about themselves and changes nothing that outlives the token: who they
// are, what they may do, tokens that end with this one. ActionSelfChange changes
// what is theirs.
const (
	ActionAdmin      Action = "admin"
	ActionDeliver    Action = "deliver"
	ActionSelf       Action = "self"
	ActionSelfChange Action = "self-change"
)

// implies reports whether a binding of a also gives b.
func (a Action) implies(b Action) bool {
	return a == b || a == ActionWrite && (b == ActionRead || b == ActionCreate)
}

// Scope is the object of an action, by ids. Empty fields mean the hub as a
// whole; a cluster and a service come with the project that they are in.
type Scope struct {
	// Project is the object's project.
	Project string
	Cluster string
	// ClusterProject is the project of the service's cluster, where it is
	// another one.
	ClusterProject string
	Service        string
}

// tokenScopes says which of its scopes a token needs for an action.
var tokenScopes = map[Action]string{
	ActionRead: ScopeRead, ActionSelf: ScopeRead, ActionSelfChange: ScopeWrite, ActionWrite: ScopeWrite, ActionCreate: ScopeWrite, ActionGit: ScopeWrite, ActionAdmin: ScopeAdmin,
}

// ErrNoBinding is wrapped in the errors of people who have no binding for the
// action; ErrNoAccess also, when they have no binding at all. A caller that
// knows the names of objects may say more.
var (
	ErrNoBinding = errors.New("no role binding gives it")
	ErrNoAccess  = fmt.Errorf("%w, nor anything else", ErrNoBinding)
)

// Decision says why a caller may do something, or may not.
type Decision struct {
	// Err is nil when the caller may; otherwise it is what Authorize returns.
	Err error
	// Admin is set when the caller may as an administrator.
	Admin bool
	// Binding is otherwise the binding that allows it.
	Binding Binding
}

// Authorize returns nil when the caller may do the action in the scope, a
// Forbidden error when they may not, and Unauthorized when there is no caller.
// It is the only function that decides, and it reads only memory.
func (d *Directory) Authorize(ctx context.Context, p Principal, action Action, scope Scope) error {
	return d.Decide(ctx, p, action, scope).Err
}

// Decide is Authorize with the reason for the decision.
func (d *Directory) Decide(_ context.Context, p Principal, action Action, scope Scope) Decision {
	switch p.Kind {
	case KindUser, KindServiceAccount:
		return d.decidePerson(p, action, scope)
	case KindCluster:
		if action == ActionDeliver && scope.Cluster != "" && scope.Cluster == p.ID {
			return Decision{}
		}
		return refuse("cluster %s may only request its own data", p.Name)
	case "":
		return Decision{Err: errcode.New(errcode.Unauthorized, "no identity; log in first")}
	}
	return refuse("a %s token cannot be used for this", p.Kind)
}

func refuse(format string, args ...any) Decision {
	return Decision{Err: errcode.New(errcode.Forbidden, format, args...)}
}

func (d *Directory) decidePerson(p Principal, action Action, scope Scope) Decision {
	admin := d.access.admin(p)
	if action == ActionAdmin && !admin {
		// Check this before the token's scopes: another token would not help.
		return refuse("%s is not an administrator; ask one to do this", p.Name)
	}
	if err := p.capped(action); err != nil {
		return Decision{Err: err}
	}
	switch {
	case action == ActionSelf || action == ActionSelfChange:
		return Decision{Admin: admin}
	case p.Project != "" && p.Project != scope.Project && p.Project != scope.ClusterProject:
		return refuse("this token is for another project")
	case admin:
		return Decision{Admin: true}
	}
	if b, ok := d.access.find(p.ID, action, scope); ok {
		return Decision{Binding: b}
	}
	return Decision{Err: d.unbound(p, action, scope)}
}

// capped returns an error when the token's scopes do not allow the action.
func (p Principal) capped(action Action) error {
	wanted := tokenScopes[action]
	if wanted == "" {
		return errcode.New(errcode.Forbidden, "only an agent may do this for its own cluster")
	}
	if !p.HasScope(wanted) {
		return errcode.New(errcode.Forbidden, "this token lacks the scope %[1]q; make one that has it: axle tokens create NAME --scope %[1]s", wanted)
	}
	return nil
}

// unbound returns the error for a missing binding, with the command that creates it.
func (d *Directory) unbound(p Principal, action Action, scope Scope) error {
	any := false
	d.access.each(p.ID, func(Binding) { any = true })
	if !any {
		return errcode.New(errcode.Forbidden, "%s may not %s here: %w; an administrator does with: %s", p.Name, action, ErrNoAccess, p.BindCommand(action, "--project NAME"))
	}
	where := "--global"
	switch {
	case scope.Service != "":
		where = "--service CLUSTER/NAME"
	case scope.Cluster != "":
		where = "--cluster NAME"
	case scope.Project != "":
		where = "--project NAME"
	}
	return errcode.New(errcode.Forbidden, "%s may not %s here: %w; an administrator does with: %s", p.Name, action, ErrNoBinding, p.BindCommand(action, where))
}

// BindCommand returns the command that gives the caller an action on an object;
// place is a flag with its value.
func (p Principal) BindCommand(action Action, place string) string {
	subject := "--user"
	if p.Kind == KindServiceAccount {
		subject = "--service-account"
	}
	return fmt.Sprintf("axle auth bind %s %s --action %s %s", subject, p.Name, action, place)
}
