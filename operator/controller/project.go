package controller

import (
	"context"

	"connectrpc.com/connect"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

func projects() kind {
	return kind{
		name: "Project", protection: "project", object: &v1alpha1.Project{}, list: &v1alpha1.ProjectList{}, hub: projectCalls{},
		common: func(o client.Object) common {
			p := o.(*v1alpha1.Project)
			return common{&p.Status, p.Spec.Reconciliation}
		},
	}
}

type projectCalls struct{}

func foundProject(p *hubv1.Project) *found {
	return &found{id: p.GetId(), message: p, managed: true, by: p.GetManagedBy()}
}

func (projectCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	have, err := c.Projects.Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundProject(have.Msg), nil
}

func (projectCalls) same(_ context.Context, _ *sdk.Client, item *manifest.Item, have *found) (bool, error) {
	return have.message.(*hubv1.Project).GetDescription() == item.Project.GetDescription(), nil
}

func (projectCalls) write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *found) (*found, error) {
	var answer *connect.Response[hubv1.Project]
	var err error
	if have == nil {
		answer, err = c.Projects.Create(ctx, connect.NewRequest(item.Project))
	} else {
		answer, err = c.Projects.Update(ctx, connect.NewRequest(&hubv1.UpdateProjectRequest{
			Name: item.Name, Description: &item.Project.Description, Management: item.Project.GetManagement(),
		}))
	}
	if err != nil {
		return nil, err
	}
	return foundProject(answer.Msg), nil
}

func (projectCalls) remove(ctx context.Context, c *sdk.Client, _ client.Object, name string, by *hubv1.Manager) (bool, error) {
	have, err := c.Projects.Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: name}))
	if err = others(have, err, by); err != nil {
		return false, err
	}
	_, err = c.Projects.Delete(ctx, connect.NewRequest(&hubv1.DeleteProjectRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return err == nil, err
}

// ignoreNotFound returns nil for an error that says that an object does not exist.
func ignoreNotFound(err error) error {
	if sdk.IsNotFound(err) {
		return nil
	}
	return err
}
