package apply

import (
	"context"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk/declare"
	"github.com/axle-cd/axle/sdk/manifest"
)

// declared applies an object of a kind of sdk/declare.
func (r *applying) declared(ctx context.Context, item manifest.Item, view *appliedView) error {
	kind, ok := declare.Of(item.Kind)
	if item.Cluster != nil {
		kind, ok, item.Cluster.Management = declare.Clusters, true, r.management
	}
	if !ok {
		return errcode.New(errcode.Invalid, "%s: kind %s is for the operator; apply it to the management cluster with kubectl", item.Where, item.Kind)
	}
	item.Management = proto.CloneOf(r.management)
	have, err := kind.Read(ctx, r.client, &item)
	if err != nil {
		return err
	}
	switch {
	case have == nil && item.Request == nil:
		return errcode.New(errcode.NotFound, "cluster %s is not registered; run axle clusters connect %s first", item.Name, item.Name)
	case have == nil:
		view.Result = "created"
	case kind.Same(r.client, &item, have) && !declare.Hides(&item) && !takes(have.By, r.management):
		view.Result = "unchanged"
	default:
		view.Result = "updated"
	}
	if r.dryRun && view.Result == "updated" && len(item.Set) == 0 { // of what has rows, each has its manager
		if err := r.mayManage(item, have.By); err != nil {
			return err
		}
	}
	if !r.dryRun && view.Result != "unchanged" {
		made, err := kind.Write(ctx, r.client, &item, have)
		if err != nil {
			return err
		}
		if sameVersion(have, made) {
			view.Result = "unchanged" // the secrets were the same
		}
		have = made
	}
	if have != nil {
		r.ids[item.Kind+"/"+have.ID] = true
	}
	return nil
}

// sameVersion reports whether a write changed nothing, of objects that have a version.
func sameVersion(have, made *declare.Found) bool {
	if have == nil {
		return false
	}
	before, _ := have.Message.(interface{ GetVersion() int64 })
	after, _ := made.Message.(interface{ GetVersion() int64 })
	return before != nil && after != nil && before.GetVersion() == after.GetVersion() && proto.Equal(have.By, made.By)
}

// prunableKinds are the kinds of sdk/declare that --prune deletes. A caller who may not
// list a kind has written none of it.
func (r *applying) prunableKinds(own *hubv1.Management, kinds ...string) (out []prunable) {
	for _, name := range kinds {
		kind, _ := declare.Of(name)
		out = append(out, prunable{name, "deleted", func(ctx context.Context) ([]string, error) {
			names, err := kind.Managed(ctx, r.client, own.GetBy())
			if connect.CodeOf(err) == connect.CodePermissionDenied {
				return nil, nil
			}
			return names, err
		}, func(ctx context.Context, name string) error {
			err := kind.Remove(ctx, r.client, name, own.GetBy())
			var theirs *declare.OfOthers
			if errors.As(err, &theirs) {
				return nil // taken over since it was listed
			}
			return err
		}})
	}
	return out
}
