package declare

import (
	"cmp"
	"context"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// limits are the limits of a project, and nothing else of it.
type limits struct{}

// foundLimits is nil for a project without limits.
func foundLimits(p *hubv1.Project) *Found {
	if p.GetLimits() == nil {
		return nil
	}
	return &Found{ID: p.GetId(), Message: p.GetLimits(), By: p.GetLimitsManagedBy()}
}

// Read implements Kind.
func (limits) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	p, err := c.Projects.Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: item.Name}))
	if err != nil {
		return nil, err
	}
	return foundLimits(p.Msg), nil
}

// Same implements Kind. The order of the lists means nothing.
func (limits) Same(_ *sdk.Client, item *manifest.Item, have *Found) bool {
	return proto.Equal(sortedLimits(have.Message.(*hubv1.ProjectLimits)), sortedLimits(item.Request.(*hubv1.UpdateProjectRequest).GetLimits()))
}

func sortedLimits(l *hubv1.ProjectLimits) *hubv1.ProjectLimits {
	l = proto.CloneOf(l)
	slices.Sort(l.GetNamespaces())
	slices.Sort(l.GetKinds())
	sortWindows(l.GetSyncWindows())
	return l
}

func sortWindows(all []*hubv1.SyncWindow) {
	slices.SortFunc(all, func(a, b *hubv1.SyncWindow) int { return cmp.Compare(a.String(), b.String()) })
}

// Write implements Kind.
func (limits) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *Found) (*Found, error) {
	request := proto.CloneOf(item.Request.(*hubv1.UpdateProjectRequest))
	request.Management = item.Management
	p, err := c.Projects.Update(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	if f := foundLimits(p.Msg); f != nil {
		return f, nil
	}
	return &Found{ID: p.Msg.GetId(), Message: &hubv1.ProjectLimits{}, By: item.Management.GetBy()}, nil
}

// Remove implements Kind.
func (l limits) Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	have, err := l.Read(ctx, c, &manifest.Item{Name: name})
	if have == nil {
		return ignoreNotFound(err)
	}
	if err := ours(have.By, by); err != nil {
		return err
	}
	_, err = c.Projects.Update(ctx, connect.NewRequest(&hubv1.UpdateProjectRequest{Name: name, Limits: &hubv1.ProjectLimits{}, Management: &hubv1.Management{By: by}}))
	return ignoreNotFound(err)
}

// Managed implements Kind.
func (limits) Managed(ctx context.Context, c *sdk.Client, by *hubv1.Manager) (names []string, _ error) {
	list, err := c.Projects.List(ctx, connect.NewRequest(&hubv1.ListProjectsRequest{}))
	if err != nil {
		return nil, err
	}
	for _, p := range list.Msg.GetProjects() {
		if proto.Equal(p.GetLimitsManagedBy(), by) {
			names = append(names, p.GetName())
		}
	}
	return names, nil
}

// windows are the sync windows of the hub.
type windows struct{}

// Read implements Kind.
func (windows) Read(ctx context.Context, c *sdk.Client, _ *manifest.Item) (*Found, error) {
	have, err := c.Hub.GetSyncWindows(ctx, connect.NewRequest(&hubv1.GetSyncWindowsRequest{}))
	if err != nil || len(have.Msg.GetSyncWindows()) == 0 {
		return nil, err
	}
	return &Found{ID: "hub", Message: have.Msg, By: have.Msg.GetManagedBy()}, nil
}

func sortedWindows(l *hubv1.SyncWindowList) *hubv1.SyncWindowList {
	l = proto.CloneOf(&hubv1.SyncWindowList{SyncWindows: l.GetSyncWindows()})
	sortWindows(l.GetSyncWindows())
	return l
}

// Same implements Kind.
func (windows) Same(_ *sdk.Client, item *manifest.Item, have *Found) bool {
	return proto.Equal(sortedWindows(have.Message.(*hubv1.SyncWindowList)), sortedWindows(item.Request.(*hubv1.SyncWindowList)))
}

// Write implements Kind.
func (windows) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *Found) (*Found, error) {
	answer, err := c.Hub.SetSyncWindows(ctx, connect.NewRequest(&hubv1.SyncWindowList{
		SyncWindows: item.Request.(*hubv1.SyncWindowList).GetSyncWindows(), Management: item.Management,
	}))
	if err != nil {
		return nil, err
	}
	return &Found{ID: "hub", Message: answer.Msg, By: item.Management.GetBy()}, nil
}

// Remove implements Kind.
func (w windows) Remove(ctx context.Context, c *sdk.Client, _ string, by *hubv1.Manager) error {
	have, err := w.Read(ctx, c, nil)
	if have == nil {
		return err
	}
	if err := ours(have.By, by); err != nil {
		return err
	}
	_, err = c.Hub.SetSyncWindows(ctx, connect.NewRequest(&hubv1.SyncWindowList{Management: &hubv1.Management{By: by}}))
	return err
}

// Managed implements Kind.
func (w windows) Managed(ctx context.Context, c *sdk.Client, by *hubv1.Manager) ([]string, error) {
	have, err := w.Read(ctx, c, nil)
	if have == nil || ours(have.By, by) != nil {
		return nil, err
	}
	return []string{"hub"}, nil
}
