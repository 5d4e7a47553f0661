package controller

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

func groups() kind {
	return kind{
		name: "Group", protection: "group", object: &v1alpha1.Group{}, list: &v1alpha1.GroupList{}, hub: groupCalls{},
		common: func(o client.Object) common {
			g := o.(*v1alpha1.Group)
			return common{&g.Status, g.Spec.Reconciliation}
		},
	}
}

type groupCalls struct{}

// foundGroup says of a description that differs that it does not act: the hub cannot
// change one, and another group would have no members.
func foundGroup(g *hubv1.Group, item *manifest.Item) *found {
	f := &found{id: g.GetId(), message: g, managed: true, by: g.GetManagedBy()}
	if g.GetDescription() != item.Request.(*hubv1.CreateGroupRequest).GetDescription() {
		f.notActing = []string{"spec.description"}
	}
	return f
}

func (groupCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	have, err := c.Groups.Get(ctx, connect.NewRequest(&hubv1.GetGroupRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundGroup(have.Msg, item), nil
}

// same is true: members are not the group's to declare, and nothing else can change.
func (groupCalls) same(context.Context, *sdk.Client, *manifest.Item, *found) (bool, error) {
	return true, nil
}

func (groupCalls) write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *found) (*found, error) {
	if have != nil && !item.Management.GetTakeOver() {
		return have, nil
	}
	request := proto.CloneOf(item.Request.(*hubv1.CreateGroupRequest))
	request.Management = item.Management
	answer, err := c.Groups.Create(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	return foundGroup(answer.Msg, item), nil
}

func (groupCalls) remove(ctx context.Context, c *sdk.Client, _ client.Object, name string, by *hubv1.Manager) (bool, error) {
	have, err := c.Groups.Get(ctx, connect.NewRequest(&hubv1.GetGroupRequest{Name: name}))
	if err = others(have, err, by); err != nil {
		return false, err
	}
	_, err = c.Groups.Delete(ctx, connect.NewRequest(&hubv1.DeleteGroupRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return err == nil, err
}
