package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

func globalServices() kind {
	return kind{
		name: "GlobalService", protection: "globalservice", object: &v1alpha1.GlobalService{}, list: &v1alpha1.GlobalServiceList{}, hub: globalCalls{},
		common: func(o client.Object) common {
			g := o.(*v1alpha1.GlobalService)
			return common{&g.Status.Status, g.Spec.Reconciliation}
		},
		references: func(o client.Object) []reference.Reference {
			g := o.(*v1alpha1.GlobalService)
			return slices.Concat(reference.ToGlobal("spec.projectRef", "Project", g.Spec.ProjectRef), reference.To("spec.serviceRef", "ServiceDeployment", g.Spec.ServiceRef, g.Namespace),
				templateReferences("spec.template", g.Spec.Template, g.Namespace))
		},
		more: func(o client.Object, refs reference.Resolved) []reference.Reference {
			for _, ref := range reference.To("", "ServiceDeployment", o.(*v1alpha1.GlobalService).Spec.ServiceRef, o.GetNamespace()) {
				if s, ok := refs[ref.Key()].(*v1alpha1.ServiceDeployment); ok {
					return serviceReferences(s)
				}
			}
			return nil
		},
		refersTo: []string{"Cluster", "GitRepository", "Project", "Repository", "ServiceDeployment", reference.ConfigMap, reference.Secret},
		resolve: func(o client.Object, r reference.Resolved) {
			r.Project(o.(*v1alpha1.GlobalService).Spec.ProjectRef)
		},
	}
}

// templateReferences are those of a template at a field of an object.
func templateReferences(field string, t *v1alpha1.ServiceTemplate, namespace string) []reference.Reference {
	if t == nil {
		return nil
	}
	refs := reference.ToGlobal(field+".repositoryRef", "GitRepository", t.RepositoryRef)
	if t.Helm != nil {
		refs = append(refs, reference.ToGlobal(field+".helm.repositoryRef", "GitRepository", t.Helm.RepositoryRef)...)
		refs = append(refs, reference.ToSecret(field+".helm.valuesFrom", t.Helm.ValuesFrom, namespace)...)
		if ref := t.Helm.ValuesConfigMapRef; ref != nil {
			for _, one := range reference.To(field+".helm.valuesConfigMapRef", reference.ConfigMap, &v1alpha1.ObjectReference{Name: ref.Name}, namespace) {
				one.Optional = value(ref.Optional)
				refs = append(refs, one)
			}
		}
	}
	for i, source := range t.Sources {
		// The repository of a chart is one of the hub; its kind has no controller yet.
		at := fmt.Sprintf("%s.sources[%d]", field, i)
		if source.Chart == nil {
			refs = append(refs, reference.ToGlobal(at+".repositoryRef", "GitRepository", source.RepositoryRef)...)
		}
		refs = append(refs, reference.OfFlux(at+".sourceRef", source.SourceRef, namespace)...)
	}
	refs = append(refs, reference.OfFlux(field+".sourceRef", t.SourceRef, namespace)...)
	if t.Helm != nil && t.Helm.Repository != nil {
		ref := reference.ToFlux(field+".helm.repository", "HelmRepository", cmp.Or(t.Helm.Repository.Namespace, namespace), t.Helm.Repository.Name)
		ref.Optional = true
		refs = append(refs, ref)
	}
	return append(refs, reference.ToSecret(field+".configurationRef", t.ConfigurationRef, namespace)...)
}

type globalCalls struct{}

func (globalCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	have, err := c.GlobalServices.Get(ctx, connect.NewRequest(&hubv1.GetGlobalServiceRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundGlobal(have.Msg), nil
}

// same asks the hub, which alone can compare secrets.
func (globalCalls) same(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *found) (bool, error) {
	asked := proto.CloneOf(item.Global)
	asked.DryRun = true
	answer, err := c.GlobalServices.Apply(ctx, connect.NewRequest(asked))
	if err != nil {
		return false, err
	}
	return answer.Msg.GetResult() == "unchanged", nil
}

// write reads the object again, because only Get counts the services.
func (g globalCalls) write(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *found) (*found, error) {
	if _, err := c.GlobalServices.Apply(ctx, connect.NewRequest(item.Global)); err != nil {
		return nil, err
	}
	return g.read(ctx, c, item)
}

// remove asks for the deletion, and waits until the services are released.
func (globalCalls) remove(ctx context.Context, c *sdk.Client, _ client.Object, name string, by *hubv1.Manager) (bool, error) {
	have, err := c.GlobalServices.Get(ctx, connect.NewRequest(&hubv1.GetGlobalServiceRequest{Name: name}))
	if err != nil || have.Msg.GetDeleting() {
		return false, err
	}
	if err := others(have, nil, by); err != nil {
		return false, err
	}
	_, err = c.GlobalServices.Delete(ctx, connect.NewRequest(&hubv1.DeleteGlobalServiceRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return false, err
}

func foundGlobal(g *hubv1.GlobalService) *found {
	s := g.GetState()
	waits := lacks(s, "the service")
	if g.GetRollingOut() && len(s.GetFailures()) == 0 {
		waits = "a change of the template does not run on all clusters; axle rollouts get " + g.GetName() + " shows its rollout"
	}
	return &found{id: g.GetId(), message: g, managed: true, by: g.GetManagedBy(), waits: waits, show: func(o client.Object) {
		status := &o.(*v1alpha1.GlobalService).Status
		status.Clusters, status.ReadyClusters = s.GetServices(), s.GetReady()
	}}
}
