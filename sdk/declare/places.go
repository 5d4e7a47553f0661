package declare

import (
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
	Projects Kind = projects{}
	Clusters Kind = clusters{}
	Contexts Kind = contexts{}
	Groups   Kind = groups{}
)

// projects are described by their items; their limits are another kind's.
type projects struct{}

func foundProject(p *hubv1.Project) *Found {
	return &Found{ID: p.GetId(), Message: p, By: p.GetManagedBy()}
}

// Read implements Kind.
func (projects) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	have, err := c.Projects.Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundProject(have.Msg), nil
}

// Same implements Kind.
func (projects) Same(_ *sdk.Client, item *manifest.Item, have *Found) bool {
	return have.Message.(*hubv1.Project).GetDescription() == item.Project.GetDescription()
}

// Write implements Kind.
func (projects) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	var answer *connect.Response[hubv1.Project]
	var err error
	if have == nil {
		answer, err = c.Projects.Create(ctx, connect.NewRequest(item.Project))
	} else {
		answer, err = c.Projects.Update(ctx, connect.NewRequest(&hubv1.UpdateProjectRequest{Name: item.Name, Description: &item.Project.Description, Management: item.Project.GetManagement()}))
	}
	if err != nil {
		return nil, err
	}
	return foundProject(answer.Msg), nil
}

// Remove implements Kind.
func (p projects) Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	have, err := p.Read(ctx, c, &manifest.Item{Name: name})
	if have == nil {
		return err
	}
	if err := ours(have.By, by); err != nil {
		return err
	}
	_, err = c.Projects.Delete(ctx, connect.NewRequest(&hubv1.DeleteProjectRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return ignoreNotFound(err)
}

// Managed implements Kind.
func (projects) Managed(context.Context, *sdk.Client, *hubv1.Manager) ([]string, error) {
	return nil, nil
}

// clusters are never created or deleted by what declares them.
type clusters struct{}

func foundCluster(c *hubv1.Cluster) *Found {
	f := &Found{ID: c.GetId(), Message: c, By: c.GetManagedBy()}
	switch {
	case c.GetPending():
		f.Waits = "the cluster waits for approval: axle clusters approve " + c.GetName()
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
	return (!want.GetSetTags() || maps.Equal(have.GetTags(), want.GetTags())) &&
		(!want.GetSetMetadata() || manifest.SameJSON(have.GetMetadata(), want.GetMetadata()))
}

// Write implements Kind.
func (clusters) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *Found) (*Found, error) {
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

// contexts are values that services share.
type contexts struct{}

func foundContext(c *hubv1.Context) *Found {
	return &Found{ID: c.GetName(), Message: c, By: c.GetManagedBy()}
}

// Read implements Kind.
func (contexts) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	have, err := c.Contexts.Get(ctx, connect.NewRequest(&hubv1.GetContextRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundContext(have.Msg), nil
}

// Same cannot see the values of secrets, only their keys.
func (contexts) Same(_ *sdk.Client, item *manifest.Item, f *Found) bool {
	return manifest.SameContext(f.Message.(*hubv1.Context), item.Context.GetContext())
}

// Write implements Kind.
func (contexts) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	var answer *connect.Response[hubv1.Context]
	var err error
	if have == nil {
		answer, err = c.Contexts.Create(ctx, connect.NewRequest(&hubv1.CreateContextRequest{Context: item.Context.GetContext(), Management: item.Context.GetManagement()}))
	} else {
		answer, err = c.Contexts.Update(ctx, connect.NewRequest(item.Context))
	}
	if err != nil {
		return nil, err
	}
	return foundContext(answer.Msg), nil
}

// Remove implements Kind.
func (x contexts) Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	have, err := x.Read(ctx, c, &manifest.Item{Name: name})
	if have == nil {
		return err
	}
	if err := ours(have.By, by); err != nil {
		return err
	}
	_, err = c.Contexts.Delete(ctx, connect.NewRequest(&hubv1.DeleteContextRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return ignoreNotFound(err)
}

// Managed implements Kind.
func (contexts) Managed(context.Context, *sdk.Client, *hubv1.Manager) ([]string, error) {
	return nil, nil
}

// groups have no members of their own to declare.
type groups struct{}

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
func (groups) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
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

// Remove implements Kind.
func (x groups) Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	have, err := x.Read(ctx, c, &manifest.Item{Name: name})
	if have == nil {
		return err
	}
	if err := ours(have.By, by); err != nil {
		return err
	}
	_, err = c.Groups.Delete(ctx, connect.NewRequest(&hubv1.DeleteGroupRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return ignoreNotFound(err)
}

// Managed implements Kind.
func (groups) Managed(context.Context, *sdk.Client, *hubv1.Manager) ([]string, error) {
	return nil, nil
}
