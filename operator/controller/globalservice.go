package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

func globalServices() kind {
	return kind{
		name: "GlobalService", protection: "globalservice", object: &v1alpha1.GlobalService{}, list: &v1alpha1.GlobalServiceList{},
		hub: onClusters{"GlobalService", func(i *manifest.Item) proto.Message { return i.Global }, foundGlobal},
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

// onClusters are the calls of a kind whose objects are on many clusters: Apply changes one, and only
// Get counts what came of it.
type onClusters struct {
	kind    string
	request func(*manifest.Item) proto.Message
	found   func(proto.Message) *found
}

func (s onClusters) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	objects, _ := c.Objects(s.kind)
	have, err := objects.Get(ctx, item.Name)
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return s.found(have), nil
}

// same asks the hub, which alone can compare secrets.
func (s onClusters) same(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *found) (bool, error) {
	objects, _ := c.Objects(s.kind)
	asked := proto.Clone(s.request(item))
	sdk.Set(asked, "dry_run", protoreflect.ValueOfBool(true))
	_, result, err := objects.Write(ctx, asked, true)
	return result == "unchanged", err
}

func (s onClusters) write(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *found) (*found, error) {
	objects, _ := c.Objects(s.kind)
	if _, _, err := objects.Write(ctx, s.request(item), true); err != nil {
		return nil, err
	}
	return s.read(ctx, c, item)
}

// remove asks for the deletion, and waits until the clusters have released it.
func (s onClusters) remove(ctx context.Context, c *sdk.Client, _ client.Object, name string, by *hubv1.Manager) (bool, error) {
	objects, _ := c.Objects(s.kind)
	have, err := objects.Get(ctx, name)
	if err != nil || have.(interface{ GetDeleting() bool }).GetDeleting() {
		return false, err
	}
	if now := sdk.ManagedBy(have); !proto.Equal(now, by) {
		return false, &ofOthers{now}
	}
	return false, objects.Delete(ctx, name, &hubv1.Management{By: by})
}

func foundGlobal(m proto.Message) *found {
	g := m.(*hubv1.GlobalService)
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
