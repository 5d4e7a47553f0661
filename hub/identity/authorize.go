package identity

import (
	"context"

	"github.com/axle-cd/axle/internal/errcode"
)

// Action is what a caller wants to do.
type Action string

// The actions. Reading and writing are about projects and what is in them,
// ActionAdmin about the hub itself, ActionDeliver is what agents do for their
// own cluster.
const (
	ActionRead    Action = "read"
	ActionWrite   Action = "write"
	ActionAdmin   Action = "admin"
	ActionDeliver Action = "deliver"
)

// Scope is where. Empty fields mean the hub as a whole.
type Scope struct {
	// Project is a project's id.
	Project string
	// Cluster is a cluster's id.
	Cluster string
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

func authorizePerson(p Principal, action Action, scope Scope) error {
	wanted := map[Action]string{ActionRead: ScopeRead, ActionWrite: ScopeWrite, ActionAdmin: ScopeAdmin}[action]
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
