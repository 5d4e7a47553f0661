package controller

import (
	"cmp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
)

// notificationSinks are destinations of notifications. A secret of another namespace is
// never read for one.
func notificationSinks() kind {
	k := own("NotificationSink", &v1alpha1.NotificationSink{}, &v1alpha1.NotificationSinkList{}, nil)
	k.group = ""
	k.references = func(o client.Object) []reference.Reference {
		s := o.(*v1alpha1.NotificationSink)
		in := s.Spec.Configuration
		return slices.Concat(reference.ToGlobal("spec.projectRef", "Project", s.Spec.ProjectRef),
			toKey("spec.configuration.urlSecretRef", in.URLSecretRef, s.Namespace), toKey("spec.configuration.webhook.secretRef", value(in.Webhook).SecretRef, s.Namespace))
	}
	k.refersTo = []string{"Project", reference.Secret}
	k.resolve = func(o client.Object, r reference.Resolved) { r.Project(o.(*v1alpha1.NotificationSink).Spec.ProjectRef) }
	return k
}

func toKey(field string, ref *v1alpha1.KeySelector, namespace string) []reference.Reference {
	return reference.To(field, reference.Secret, &v1alpha1.ObjectReference{Name: value(ref).Name}, namespace)
}

// notificationRouters say which events go to which sinks.
func notificationRouters() kind {
	k := own("NotificationRouter", &v1alpha1.NotificationRouter{}, &v1alpha1.NotificationRouterList{}, nil)
	k.group = ""
	k.references = func(o client.Object) []reference.Reference {
		r := o.(*v1alpha1.NotificationRouter)
		refs := reference.ToGlobal("spec.projectRef", "Project", r.Spec.ProjectRef)
		for _, f := range r.Spec.Filters {
			refs = slices.Concat(refs, reference.To("spec.filters[].serviceRef", "ServiceDeployment", f.ServiceRef, r.Namespace), reference.To("spec.filters[].clusterRef", "Cluster", f.ClusterRef, r.Namespace))
		}
		for _, sink := range r.Spec.Sinks {
			refs = append(refs, reference.To("spec.sinks[]", "NotificationSink", &sink, r.Namespace)...)
		}
		return refs
	}
	k.refersTo = []string{"Cluster", "NotificationSink", "Project", "ServiceDeployment"}
	k.resolve = func(o client.Object, found reference.Resolved) {
		r := o.(*v1alpha1.NotificationRouter)
		found.Project(r.Spec.ProjectRef)
		for i := range r.Spec.Filters {
			filter(found, &r.Spec.Filters[i], r.Namespace)
		}
		for i := range r.Spec.Sinks {
			for _, ref := range reference.To("", "NotificationSink", &r.Spec.Sinks[i], r.Namespace) {
				if s, ok := found[ref.Key()].(*v1alpha1.NotificationSink); ok {
					r.Spec.Sinks[i].Name = cmp.Or(value(s.Spec.Name), s.Name)
				}
			}
		}
	}
	return k
}

// filter replaces what a filter names by what the hub calls it. A service that names its
// cluster by handle is that one service; otherwise the filter is for the name.
func filter(r reference.Resolved, f *v1alpha1.NotificationFilter, namespace string) {
	if handle := r.Cluster(f.ClusterRef, namespace); handle != "" {
		f.Cluster, f.ClusterRef = &handle, nil
	}
	for _, ref := range reference.To("", "ServiceDeployment", f.ServiceRef, namespace) {
		if s, ok := r[ref.Key()].(*v1alpha1.ServiceDeployment); ok {
			f.ServiceRef.Name = cmp.Or(value(s.Spec.Name), s.Name)
			if f.Cluster == nil {
				f.Cluster = s.Spec.Cluster
			}
		}
	}
}
