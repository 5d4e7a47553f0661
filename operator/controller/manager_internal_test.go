package controller

import (
	"errors"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// The deletion of a custom resource leaves an object of the hub that others manage.
func TestOthersObjectsAreLeft(t *testing.T) {
	own := &hubv1.Manager{Tool: "operator", Id: "uid/Project.deployments.plural.sh/a/shop"}
	for name, c := range map[string]struct {
		by   *hubv1.Manager
		left bool
	}{"its own": {own, false}, "of Terraform": {&hubv1.Manager{Tool: "terraform", Id: "shop"}, true}, "of nobody": {nil, true}} {
		var of *ofOthers
		err := others(connect.NewResponse(&hubv1.Project{ManagedBy: c.by}), nil, own)
		if errors.As(err, &of) != c.left {
			t.Errorf("%s: %v", name, err)
		}
	}
}
