package declare

import (
	"cmp"
	"context"
	"maps"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// The calls of kinds of deployments.plural.sh for the operator; axle apply lists these
// objects itself, so Managed answers nothing.
var (
	Clusters Kind = clusters{}
	// Registrations are clusters that are declared before their agents exist.
	Registrations Kind = registrations{}
	Groups        Kind = groups{described{"Group"}}
)

// clusters are never deleted by what declares them, and created only from a template.
type clusters struct{}

func foundCluster(c *hubv1.Cluster) *Found {
	f := &Found{ID: c.GetId(), Message: c, By: c.GetManagedBy()}
	switch {
	case c.GetOrigin().GetDestroying():
		f.Waits = "the cluster is being destroyed"
	case c.GetPending():
		f.Waits = "the cluster waits for approval: axle clusters approve " + c.GetName()
	case !c.GetRegistered() && c.GetOrigin() != nil:
		f.Waits = "the cluster is " + cmp.Or(c.GetOrigin().GetState().GetPhase(), "Provisioning")
		if m := c.GetOrigin().GetState().GetMessage(); m != "" {
			f.Waits += ": " + m
		}
	case !c.GetRegistered():
		f.Waits = "no agent has registered for the cluster yet"
	}
	return f
}

// Read implements Kind.
func (clusters) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	have, err := c.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundCluster(have.Msg), nil
}

// Same implements Kind.
func (clusters) Same(_ *sdk.Client, item *manifest.Item, f *Found) bool {
	have, want := f.Message.(*hubv1.Cluster), item.Cluster
	if made, ok := item.Request.(*hubv1.CreateClusterRequest); ok && (madeFrom(made, have) != nil || !manifest.SameJSON(have.GetOrigin().GetGiven(), want.GetVariables())) {
		return false
	}
	return (!want.GetSetTags() || maps.Equal(have.GetTags(), want.GetTags())) &&
		(!want.GetSetMetadata() || manifest.SameJSON(have.GetMetadata(), want.GetMetadata()))
}

// Write implements Kind.
func (clusters) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	if made, ok := item.Request.(*hubv1.CreateClusterRequest); ok {
		if have == nil {
			create := proto.CloneOf(made)
			create.Management = item.Cluster.GetManagement()
			answer, err := c.Clusters.Create(ctx, connect.NewRequest(create))
			if err != nil {
				return nil, err
			}
			f := foundCluster(answer.Msg.GetCluster())
			f.Registration = answer.Msg
			return f, nil
		}
		if err := madeFrom(made, have.Message.(*hubv1.Cluster)); err != nil {
			return nil, err
		}
	}
	answer, err := c.Clusters.Update(ctx, connect.NewRequest(item.Cluster))
	if err != nil {
		return nil, err
	}
	return foundCluster(answer.Msg), nil
}

// Remove implements Kind. The cluster stays.
func (clusters) Remove(context.Context, *sdk.Client, string, *hubv1.Manager) error { return nil }

// Managed implements Kind.
func (clusters) Managed(context.Context, *sdk.Client, *hubv1.Manager) ([]string, error) {
	return nil, nil
}

// groups have no members of their own to declare.
type groups struct{ described }

// foundGroup says of a description that differs that it does not act: the hub cannot
// change one, and another group would have no members.
func foundGroup(g *hubv1.Group, item *manifest.Item) *Found {
	f := &Found{ID: g.GetId(), Message: g, By: g.GetManagedBy()}
	if want, ok := item.Request.(*hubv1.CreateGroupRequest); ok && g.GetDescription() != want.GetDescription() {
		f.NotActing = []string{"spec.description"}
	}
	return f
}

// Read implements Kind.
func (groups) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	have, err := c.Groups.Get(ctx, connect.NewRequest(&hubv1.GetGroupRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundGroup(have.Msg, item), nil
}

// Same is true: nothing of a group can change.
func (groups) Same(*sdk.Client, *manifest.Item, *Found) bool { return true }

// Write implements Kind.
func (g groups) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	made, err := g.described.Write(ctx, c, item, have)
	if err != nil {
		return nil, err
	}
	return foundGroup(made.Message.(*hubv1.Group), item), nil
}
