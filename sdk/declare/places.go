package declare

import (
	"context"
	"maps"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// Projects and Clusters are the calls of the kinds of deployments.plural.sh.
var (
	Projects Kind = projects{}
	Clusters Kind = clusters{}
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

// Managed implements Kind. axle apply lists projects itself.
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
