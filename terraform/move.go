package terraform

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/axle-cd/axle/internal/errcode"
)

// formerKeys are the attributes of the existing provider's resources that name an object
// here, tried in turn; name and id for all others.
var formerKeys = map[string][]string{
	"plural_cluster":         {"name", "handle"},
	"plural_git_repository":  {"url"},
	"plural_user":            {"email"},
	"plural_service_account": {"name", "email"},
}

// move answers a moved block. Terraform asks before the provider knows its hub, so this
// only notes under which names the hub may know the object; the read that follows finds
// it.
func (o *object) move(ctx context.Context, r resource.MoveStateRequest, answer *resource.MoveStateResponse) {
	if r.SourceTypeName != o.formerly {
		return
	}
	var former map[string]any
	if err := json.Unmarshal(r.SourceRawState.JSON, &former); err != nil {
		answer.Diagnostics.AddError("Cannot move the state", "It is not JSON: "+err.Error())
		return
	}
	attributes := formerKeys[o.formerly]
	if attributes == nil {
		attributes = []string{"name"}
	}
	var names []string
	for _, attribute := range append(attributes, "id") {
		name, _ := former[attribute].(string)
		if cluster := clusterOf(former); o.name == "service" && attribute == "name" && cluster != "" {
			name = cluster + "/" + name
		}
		if name != "" {
			names = append(names, name)
		}
	}
	t := answer.TargetState.Schema.Type().TerraformType(ctx)
	empty := map[string]tftypes.Value{}
	for name, attribute := range t.(tftypes.Object).AttributeTypes {
		empty[name] = tftypes.NewValue(attribute, nil)
	}
	empty["id"] = tftypes.NewValue(tftypes.String, "moved")
	answer.TargetState.Raw = tftypes.NewValue(t, empty)
	answer.Diagnostics.Append(answer.TargetPrivate.SetKey(ctx, adopts, []byte(toJSON(names)))...)
}

// clusterOf is the handle of a service's cluster in a former state.
func clusterOf(former map[string]any) string {
	cluster, _ := former["cluster"].(map[string]any)
	handle, _ := cluster["handle"].(string)
	return handle
}

// moved finds the keys of an object that a moved block brought, by the names of its
// former state.
func (o *object) moved(ctx context.Context, note []byte, guide map[string]tftypes.Value) error {
	var names []string
	if json.Unmarshal(note, &names) != nil {
		return nil // it was imported, and has its keys
	}
	err := error(errcode.New(errcode.NotFound, "the former state names nothing"))
	for _, name := range names {
		var keys map[string]string
		if keys, err = o.resolve(ctx, name); errcode.Is(err, errcode.NotFound) {
			continue
		}
		for attribute, text := range keys {
			guide[attribute] = tftypes.NewValue(tftypes.String, text)
		}
		return err
	}
	return err
}

// MoveState implements resource.ResourceWithMoveState: a moved block from a resource of
// the existing provider. What is taken from its state are the keys; the rest is read.
func (o *object) MoveState(context.Context) []resource.StateMover {
	if o.formerly == "" {
		return nil
	}
	return []resource.StateMover{{StateMover: o.move}}
}
