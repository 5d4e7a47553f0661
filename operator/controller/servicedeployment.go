package controller

import (
	"context"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// maxComponents bounds the components in a status: an API server refuses objects
// above 1.5 MiB.
const maxComponents = 1000

func serviceDeployments() kind {
	return kind{
		name: "ServiceDeployment", protection: "service", object: &v1alpha1.ServiceDeployment{}, list: &v1alpha1.ServiceDeploymentList{}, hub: serviceCalls{},
		references: serviceReferences,
		refersTo:   []string{"Cluster", "GitRepository", "Project", "Repository", reference.ConfigMap, reference.Secret},
		resolve: func(o client.Object, r reference.Resolved) {
			spec := &o.(*v1alpha1.ServiceDeployment).Spec
			if handle := r.Cluster(spec.ClusterRef, o.GetNamespace()); handle != "" {
				spec.Cluster, spec.ClusterRef = &handle, nil
			}
			r.Project(spec.ProjectRef)
		},
	}
}

func serviceReferences(o client.Object) []reference.Reference {
	s := o.(*v1alpha1.ServiceDeployment)
	refs := append(reference.To("spec.clusterRef", "Cluster", s.Spec.ClusterRef, s.Namespace), reference.ToGlobal("spec.projectRef", "Project", s.Spec.ProjectRef)...)
	return append(refs, templateReferences("spec", &s.Spec.ServiceTemplate, s.Namespace)...)
}

type serviceCalls struct{}

func (serviceCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	have, err := c.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: item.Service.GetRef()}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundService(have.Msg), nil
}

// same asks the hub, which alone can compare secrets.
func (serviceCalls) same(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *found) (bool, error) {
	asked := proto.CloneOf(item.Service)
	asked.DryRun = true
	answer, err := c.Services.Apply(ctx, connect.NewRequest(asked))
	if err != nil {
		return false, err
	}
	return answer.Msg.GetResult() == "unchanged", nil
}

func (serviceCalls) write(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *found) (*found, error) {
	answer, err := c.Services.Apply(ctx, connect.NewRequest(item.Service))
	if err != nil {
		return nil, err
	}
	return foundService(answer.Msg.GetService()), nil
}

// remove asks for the deletion; the agent deletes the objects, or leaves them with
// spec.detach, and then the hub knows no such service.
func (serviceCalls) remove(ctx context.Context, c *sdk.Client, o client.Object, name string, by *hubv1.Manager) (bool, error) {
	cluster, service, _ := strings.Cut(name, "/")
	ref := &hubv1.ServiceRef{Cluster: cluster, Name: service}
	have, err := c.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
	if err != nil || have.Msg.GetDeleting() {
		return false, err
	}
	if err := others(have, nil, by); err != nil {
		return false, err
	}
	detach := value(o.(*v1alpha1.ServiceDeployment).Spec.Detach)
	_, err = c.Services.Delete(ctx, connect.NewRequest(&hubv1.DeleteServiceRequest{Ref: ref, Detach: detach, Management: &hubv1.Management{By: by}}))
	return false, err
}

func foundService(s *hubv1.Service) *found {
	f := &found{id: s.GetId(), message: s, managed: true, by: s.GetManagedBy(), notActing: s.GetNotActing(), show: func(o client.Object) {
		status := &o.(*v1alpha1.ServiceDeployment).Status
		status.Components, status.Errors = components(s), nil
		for _, e := range s.GetErrors() {
			status.Errors = append(status.Errors, v1alpha1.ServiceError{Source: e.GetSource(), Message: e.GetMessage()})
		}
	}}
	if s.GetSync() != "Synced" || s.GetHealth() != "Healthy" {
		f.waits = strings.TrimSpace(fmt.Sprintf("the service is %s and %s. %s", s.GetSync(), s.GetHealth(), s.GetMessage()))
	}
	return f
}

// states are the words of the status for the hub's words of health.
var states = map[string]string{"Healthy": "RUNNING", "Degraded": "FAILED", "Missing": "FAILED", "Suspended": "PAUSED"}

func components(s *hubv1.Service) []v1alpha1.ServiceComponent {
	var out []v1alpha1.ServiceComponent
	for _, c := range s.GetComponents()[:min(len(s.GetComponents()), maxComponents)] {
		state := states[c.GetHealth()]
		if state == "" {
			state = "PENDING"
		}
		out = append(out, v1alpha1.ServiceComponent{
			ID: c.GetUid(), Name: c.GetName(), Group: optional(c.GetGroup()), Kind: c.GetKind(), Namespace: optional(c.GetNamespace()),
			Version: optional(c.GetVersion()), State: &state, Synced: c.GetSynced(),
		})
	}
	return out
}
