package controller

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

func managedNamespaces() kind {
	return kind{
		name: "ManagedNamespace", protection: "managednamespace", object: &v1alpha1.ManagedNamespace{}, list: &v1alpha1.ManagedNamespaceList{}, hub: namespaceCalls{},
		common: func(o client.Object) common {
			n := o.(*v1alpha1.ManagedNamespace)
			return common{&n.Status.Status, n.Spec.Reconciliation}
		},
		references: func(o client.Object) []reference.Reference {
			n := o.(*v1alpha1.ManagedNamespace)
			return append(reference.ToGlobal("spec.projectRef", "Project", n.Spec.ProjectRef), templateReferences("spec.service", n.Spec.Service, n.Namespace)...)
		},
		refersTo: []string{"GitRepository", "Project", "Repository", reference.ConfigMap, reference.Secret},
		resolve: func(o client.Object, r reference.Resolved) {
			r.Project(o.(*v1alpha1.ManagedNamespace).Spec.ProjectRef)
		},
	}
}

type namespaceCalls struct{}

func (namespaceCalls) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	have, err := c.ManagedNamespaces.Get(ctx, connect.NewRequest(&hubv1.GetManagedNamespaceRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundNamespace(have.Msg), nil
}

// same asks the hub, which alone can compare secrets.
func (namespaceCalls) same(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *found) (bool, error) {
	asked := proto.CloneOf(item.Namespace)
	asked.DryRun = true
	answer, err := c.ManagedNamespaces.Apply(ctx, connect.NewRequest(asked))
	if err != nil {
		return false, err
	}
	return answer.Msg.GetResult() == "unchanged", nil
}

// write reads the object again, because only Get counts the clusters.
func (n namespaceCalls) write(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *found) (*found, error) {
	if _, err := c.ManagedNamespaces.Apply(ctx, connect.NewRequest(item.Namespace)); err != nil {
		return nil, err
	}
	return n.read(ctx, c, item)
}

// remove asks for the deletion, and waits until the clusters have released it.
func (namespaceCalls) remove(ctx context.Context, c *sdk.Client, _ client.Object, name string, by *hubv1.Manager) (bool, error) {
	have, err := c.ManagedNamespaces.Get(ctx, connect.NewRequest(&hubv1.GetManagedNamespaceRequest{Name: name}))
	if err != nil || have.Msg.GetDeleting() {
		return false, err
	}
	if err := others(have, nil, by); err != nil {
		return false, err
	}
	_, err = c.ManagedNamespaces.Delete(ctx, connect.NewRequest(&hubv1.DeleteManagedNamespaceRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return false, err
}

func foundNamespace(n *hubv1.ManagedNamespace) *found {
	s, service := n.GetState(), n.GetServiceState()
	ready := s.GetReady()
	f := &found{id: n.GetId(), message: n, managed: true, by: n.GetManagedBy(), waits: lacks(s, "the namespace")}
	if service != nil {
		ready = min(ready, service.GetReady())
		if f.waits == "" {
			f.waits = lacks(service, "the service")
		}
		if f.waits == "" && service.GetServices() < s.GetServices() {
			f.waits = fmt.Sprintf("%d of %d clusters have the service", service.GetServices(), s.GetServices())
		}
	}
	f.show = func(o client.Object) {
		status := &o.(*v1alpha1.ManagedNamespace).Status
		status.Clusters, status.ReadyClusters = s.GetServices(), ready
	}
	return f
}

// lacks says what services on many clusters wait for, empty for nothing.
func lacks(s *hubv1.GlobalServiceState, what string) string {
	switch {
	case len(s.GetFailures()) > 0:
		first := s.GetFailures()[0]
		return fmt.Sprintf("%d clusters do not have %s as it is declared; %s: %s", s.GetFailing(), what, first.GetCluster(), first.GetMessage())
	case s.GetPending():
		return "the last change has not reached all clusters"
	case s.GetReady() < s.GetServices():
		return fmt.Sprintf("%d of %d services are synced and healthy", s.GetReady(), s.GetServices())
	}
	return ""
}
