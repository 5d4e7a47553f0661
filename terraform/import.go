package terraform

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/terraform/shape"
)

// ImportState implements resource.ResourceWithImportState. An import only reads: the
// next apply takes the object over, as its plan shows.
func (o *object) ImportState(ctx context.Context, r resource.ImportStateRequest, answer *resource.ImportStateResponse) {
	if !o.session.known(&answer.Diagnostics) {
		return
	}
	keys, err := o.resolve(ctx, r.ID)
	if err != nil {
		o.fail(&answer.Diagnostics, "import", r.ID, err)
		return
	}
	for name, text := range keys {
		if text != "" {
			answer.Diagnostics.Append(answer.State.SetAttribute(ctx, path.Root(name), text)...)
		}
	}
	answer.Diagnostics.Append(answer.Private.SetKey(ctx, adopts, []byte(`"import"`))...)
}

// resolve finds the keys of the object that an id of an import names: by its keys joined
// by slashes, by the hub's id, or by its handle.
func (o *object) resolve(ctx context.Context, id string) (map[string]string, error) {
	if len(o.keys) == 0 {
		return map[string]string{"id": o.name}, nil
	}
	parts := strings.SplitN(id, "/", len(o.keys))
	keys := map[string]tftypes.Value{}
	out := map[string]string{}
	for i, name := range o.keys {
		text := ""
		if i < len(parts) {
			text = parts[i]
		}
		keys[name], out[name] = tftypes.NewValue(tftypes.String, text), text
	}
	if len(parts) == len(o.keys) || o.rows != nil {
		message, _, err := o.session.reads.find(ctx, o.kind, keys)
		if err != nil && !errcode.Is(err, errcode.Invalid) {
			return nil, err
		}
		if message != nil {
			return out, nil
		}
	}
	list := o.list
	if o.rows == nil {
		if list == nil {
			list = listOf(o.object)
		}
		rows, err := list.all(ctx, o.session.client, list.request())
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if id != sdk.Text(row, "id") && (o.also == "" || strings.TrimPrefix(id, "@") != sdk.Text(row, o.also)) {
				continue
			}
			found := shape.Read(row.ProtoReflect(), o.keyNodes(), nil)
			for name := range out {
				out[name] = shape.TextOf(found[name])
			}
			return out, nil
		}
	}
	by := strings.ToUpper(strings.Join(o.keys, "/"))
	if o.also != "" {
		by += ", @" + strings.ToUpper(string(o.also))
	}
	return nil, errcode.New(errcode.NotFound, "the hub has no such %s; give %s or the hub's id", strings.ReplaceAll(o.name, "_", " "), by)
}
