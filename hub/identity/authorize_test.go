package identity_test

import (
	"fmt"
	"testing"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestAuthorize(t *testing.T) {
	person := func(admin bool, scopes ...string) identity.Principal {
		return identity.Principal{Kind: identity.KindUser, ID: "u", Name: "ann", Admin: admin, Scopes: scopes}
	}
	inProject := person(false, "write")
	inProject.Project = "shop"
	callers := map[string]identity.Principal{
		"nobody":      {},
		"admin":       person(true, "admin"),
		"admin read":  person(true, "read"),
		"scope alone": person(false, "admin"),
		"writer":      person(false, "write"),
		"reader":      person(false, "read"),
		"in project":  inProject,
		"cluster":     {Kind: identity.KindCluster, ID: "c1", Name: "edge-1"},
		"setup":       {Kind: identity.KindSetup},
		"bootstrap":   {Kind: identity.KindBootstrap},
	}
	// What each may do: r read, w write, a administer, everywhere; p write in
	// its project; d deliver for its own cluster.
	allowed := map[string]string{
		"admin": "rwap", "admin read": "r", "scope alone": "rwp", "writer": "rwp", "reader": "r", "in project": "p", "cluster": "d",
	}
	actions := map[string]struct {
		action identity.Action
		scope  identity.Scope
	}{
		"r": {identity.ActionRead, identity.Scope{}},
		"w": {identity.ActionWrite, identity.Scope{Project: "other"}},
		"a": {identity.ActionAdmin, identity.Scope{}},
		"p": {identity.ActionWrite, identity.Scope{Project: "shop", Cluster: "c1"}},
		"d": {identity.ActionDeliver, identity.Scope{Cluster: "c1"}},
		"x": {identity.ActionDeliver, identity.Scope{Cluster: "c2"}},
		"y": {identity.ActionDeliver, identity.Scope{}},
		"z": {identity.Action("other"), identity.Scope{}},
	}
	var d identity.Directory
	for name, caller := range callers {
		for letter, asked := range actions {
			t.Run(fmt.Sprintf("%s/%s", name, letter), func(t *testing.T) {
				want := errcode.Forbidden
				if name == "nobody" {
					want = errcode.Unauthorized
				}
				for _, c := range allowed[name] {
					if string(c) == letter {
						want = ""
					}
				}
				if err := d.Authorize(t.Context(), caller, asked.action, asked.scope); errcode.Of(err) != want {
					t.Errorf("err = %v, want code %q", err, want)
				}
			})
		}
	}
}
