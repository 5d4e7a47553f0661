package terraform

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/axle-cd/axle/internal/errcode"
)

// formerKeys are the attributes of the existing provider's resources that name an object
// here, in the order of our keys; more than one for a key are tried in turn.
var formerKeys = map[string][]string{
	"plural_cluster":            {"name", "handle"},
	"plural_git_repository":     {"url"},
	"plural_service_deployment": {"name"},
	"plural_user":               {"email"},
}

// move answers a moved block. The hub may know the object under a name or an id of the
// former state.
func (o *object) move(ctx context.Context, r resource.MoveStateRequest, answer *resource.MoveStateResponse) {
	if r.SourceTypeName != o.formerly {
		return
	}
	var former map[string]any
	if err := json.Unmarshal(r.SourceRawState.JSON, &former); err != nil {
		answer.Diagnostics.AddError("Cannot move the state", "It is not JSON: "+err.Error())
		return
	}
	if !o.session.known(&answer.Diagnostics) {
		return
	}
	attempts := formerKeys[o.formerly]
	if attempts == nil {
		attempts = []string{"name"}
	}
	var err error
	for _, attribute := range append(attempts, "id") {
		id, _ := former[attribute].(string)
		if id == "" {
			continue
		}
		if o.name == "service" && attribute == "name" {
			if cluster := clusterOf(former); cluster != "" {
				id = cluster + "/" + id
			}
		}
		var keys map[string]string
		if keys, err = o.resolve(ctx, id); err != nil {
			if !errcode.Is(err, errcode.NotFound) {
				break
			}
			continue
		}
		for name, text := range keys {
			answer.Diagnostics.Append(answer.TargetState.SetAttribute(ctx, path.Root(name), text)...)
		}
		answer.Diagnostics.Append(answer.TargetPrivate.SetKey(ctx, adopts, []byte(`"moved"`))...)
		return
	}
	if err == nil {
		err = errcode.New(errcode.NotFound, "the state of %s names nothing", o.formerly)
	}
	o.fail(&answer.Diagnostics, "move "+o.formerly+" to", "", err)
}

// clusterOf is the handle of a service's cluster in a former state.
func clusterOf(former map[string]any) string {
	cluster, _ := former["cluster"].(map[string]any)
	handle, _ := cluster["handle"].(string)
	return handle
}
