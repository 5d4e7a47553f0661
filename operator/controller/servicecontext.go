package controller

import (
	"context"

	"connectrpc.com/connect"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

func serviceContexts() kind {
	return kind{
		name: "ServiceContext", protection: "servicecontext", object: &v1alpha1.ServiceContext{}, list: &v1alpha1.ServiceContextList{}, hub: contextCalls{},
		common: func(o client.Object) common {
			c := o.(*v1alpha1.ServiceContext)
			return common{&c.Status, c.Spec.Reconciliation}
		},
		references: func(o client.Object) []reference.Reference {
			c := o.(*v1alpha1.ServiceContext)
			refs := reference.ToGlobal("spec.projectRef", "Project", c.Spec.ProjectRef)
			for _, ref := range manifest.ConfigMapsOf(c.Spec, c.Namespace) {
				refs = append(refs, reference.To("spec.configMapRefs", reference.ConfigMap, &v1alpha1.ObjectReference{Name: ref.Name}, *ref.Namespace)...)
			}
			return append(refs, reference.ToSecret("spec.secretRef", c.Spec.SecretRef, c.Namespace)...)
		},
		refersTo: []string{"Project", reference.Secret, reference.ConfigMap},
		resolve: func(o client.Object, r reference.Resolved) {
			r.Project(o.(*v1alpha1.ServiceContext).Spec.ProjectRef)
		},
	}
}

type contextCalls struct{}

func foundContext(c *hubv1.Context) *found {
	return &found{id: c.GetName(), message: c, managed: true, by: c.GetManagedBy()}
}

func (contextCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	have, err := c.Contexts.Get(ctx, connect.NewRequest(&hubv1.GetContextRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundContext(have.Msg), nil
}

// same cannot see the values of secrets, only their keys.
func (contextCalls) same(_ context.Context, _ *sdk.Client, item *manifest.Item, f *found) (bool, error) {
	return manifest.SameContext(f.message.(*hubv1.Context), item.Context.GetContext()), nil
}

func (contextCalls) write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *found) (*found, error) {
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

func (contextCalls) remove(ctx context.Context, c *sdk.Client, _ client.Object, name string, by *hubv1.Manager) (bool, error) {
	have, err := c.Contexts.Get(ctx, connect.NewRequest(&hubv1.GetContextRequest{Name: name}))
	if err = others(have, err, by); err != nil {
		return false, err
	}
	_, err = c.Contexts.Delete(ctx, connect.NewRequest(&hubv1.DeleteContextRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return err == nil, err
}
