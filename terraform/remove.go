package terraform

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/terraform/shape"
)

// protection is the attribute of a cluster from a template that keeps its machines.
const protection = "deletion_protection"

// unprotected reports whether an earlier apply said that the machines may go.
func unprotected(state map[string]tftypes.Value) bool {
	keep := true
	if v := state[protection]; shape.IsSet(v) {
		_ = v.As(&keep) // a value of another type protects
	}
	return !keep
}

// Delete implements resource.Resource.
func (o *object) Delete(ctx context.Context, r resource.DeleteRequest, answer *resource.DeleteResponse) {
	if !o.session.known(&answer.Diagnostics) || o.remove == nil {
		return
	}
	ctx, cancel := limited(ctx, r.State.Raw, "delete", goneLimit)
	defer cancel()
	v := shape.Values{Plan: shape.Fields(r.State.Raw)}
	id := o.idOf(v.Plan)
	remove := o.remove
	switch {
	case o.destroy != nil && shape.TextOf(v.Plan["template"]) != "":
		// The machines go, and the agent with them.
		if remove = o.destroy; !unprotected(v.Plan) {
			answer.Diagnostics.AddError("Cluster "+id+" is protected", "It was made from a template, and destroying it removes its machines. To destroy it, set\n\n  "+protection+
				" = false\n\nand apply that first. To keep the machines and only end the management by Terraform:\n\n  terraform state rm ADDRESS")
			return
		}
	case o.installs:
		o.uninstall(ctx, v.Plan, &answer.Diagnostics)
	}
	request := remove.request()
	err := shape.Fill(request.ProtoReflect(), o.removal(), v)
	if err == nil {
		if o.removing != nil {
			o.removing(request)
		}
		sdk.SetManagement(request, &hubv1.Management{By: o.session.by})
		_, _, err = o.session.send(ctx, remove, request)
	}
	if sdk.IsNotFound(err) {
		return
	}
	if err == nil {
		err = o.gone(ctx, v.Plan, remove == o.destroy)
	}
	if err != nil {
		o.fail(&answer.Diagnostics, "destroy", id, err)
	}
}

// removal are the attributes that a request to remove has: the keys, and for rows what
// is in them.
func (o *object) removal() []*shape.Node {
	if o.rows != nil {
		return o.attributes
	}
	return o.keyNodes()
}

// gone waits until an object that is deleted from clusters first is gone, and so are the
// services that it made: what they use is destroyed next.
func (o *object) gone(ctx context.Context, keys map[string]tftypes.Value, destroyed bool) error {
	if o.get == nil || !destroyed && o.object.ProtoReflect().Descriptor().Fields().ByName("deleting") == nil {
		return nil
	}
	backoff := jitter.Backoff{Min: 200 * time.Millisecond, Max: 5 * time.Second}
	for {
		left, err := o.leaving(ctx, keys)
		if away := errcode.Is(err, errcode.Unavailable); !away && (err != nil || !left) {
			return err
		}
		if jitter.Wait(ctx, 100*time.Millisecond+backoff.Next()) != nil {
			return errcode.New(errcode.Unavailable, "it is being deleted, and clusters have not confirmed it yet; run terraform apply again, or give timeouts { delete } more time")
		}
	}
}

// leaving reports whether something of a deleted object is still there.
func (o *object) leaving(ctx context.Context, keys map[string]tftypes.Value) (bool, error) {
	message, err := o.getOne(ctx, o.session.client, keys)
	if err != nil || message != nil || o.made == "" {
		return message != nil, err
	}
	rows, err := listOf(&hubv1.Service{}).all(ctx, o.session.client, &hubv1.ListServicesRequest{Name: o.idOf(keys) + strings.TrimPrefix(o.made, "=")})
	return slices.ContainsFunc(rows, isDeleting), err
}
