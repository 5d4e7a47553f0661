package controller

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk/manifest"
)

func managedNamespaces() kind {
	return kind{
		name: "ManagedNamespace", protection: "managednamespace", object: &v1alpha1.ManagedNamespace{}, list: &v1alpha1.ManagedNamespaceList{},
		hub: onClusters{"ManagedNamespace", func(i *manifest.Item) proto.Message { return i.Namespace }, foundNamespace},
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

func foundNamespace(m proto.Message) *found {
	n := m.(*hubv1.ManagedNamespace)
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
