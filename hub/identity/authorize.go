package identity

import (
	"context"

	"github.com/axle-cd/axle/internal/errcode"
)

// Action is what a caller wants to do.
type Action string

// The actions that bindings give, about projects and what is in them. Writing
// implies reading and creating.
const (
	ActionRead   Action = "read"
	ActionWrite  Action = "write"
	ActionCreate Action = "create"
	// ActionGit is about repositories and their webhooks.
	ActionGit Action = "git"
)

// The actions that no binding gives. ActionAdmin is about the hub itself,
// ActionDeliver is what agents do for their own cluster, ActionSelf is what a
// person does about himself: who he is, his own tokens, what he may do.
const (
	ActionAdmin   Action = "admin"
	ActionDeliver Action = "deliver"
	ActionSelf    Action = "self"
)

// Scope is where, by ids. Empty fields mean the hub as a whole; a cluster and a
// service come with the project that they are in.
type Scope struct {
	// Project is the project of what is meant.
	Project string
	Cluster string
	// ClusterProject is the cluster's project where a service is in another.
	ClusterProject string
	Service        string
}

// Authorize returns nil when the caller may do the action there, else a
// Forbidden error, or Unauthorized when there is no caller. It is the only
// place that decides.
func (d *Directory) Authorize(_ context.Context, p Principal, action Action, scope Scope) error {
	switch p.Kind {
	case KindUser, KindServiceAccount:
		return authorizePerson(p, action, scope)
	case KindCluster:
		if action == ActionDeliver && scope.Cluster != "" && scope.Cluster == p.ID {
			return nil
		}
		return errcode.New(errcode.Forbidden, "cluster %s may only ask for what is its own", p.Name)
	case "":
		return errcode.New(errcode.Unauthorized, "no identity; log in first")
	}
	return errcode.New(errcode.Forbidden, "a %s token cannot be used for this", p.Kind)
}

// tokenScopes says which of its scopes a token needs for an action.
var tokenScopes = map[Action]string{
	ActionRead: ScopeRead, ActionSelf: ScopeRead, ActionWrite: ScopeWrite, ActionCreate: ScopeWrite, ActionGit: ScopeWrite, ActionAdmin: ScopeAdmin,
}

func authorizePerson(p Principal, action Action, scope Scope) error {
	wanted := tokenScopes[action]
	if wanted == "" {
		return errcode.New(errcode.Forbidden, "only an agent may do this for its own cluster")
	}
	if !p.HasScope(wanted) {
		return errcode.New(errcode.Forbidden, "this token lacks the scope %q; make one that has it", wanted)
	}
	if action == ActionAdmin && !p.Admin {
		return errcode.New(errcode.Forbidden, "%s is no administrator", p.Name)
	}
	if p.Project != "" && p.Project != scope.Project {
		return errcode.New(errcode.Forbidden, "this token is for another project")
	}
	return nil
}
