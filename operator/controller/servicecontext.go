package controller

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk/manifest"
)

func serviceContexts() kind {
	return kind{
		name: "ServiceContext", protection: "servicecontext", object: &v1alpha1.ServiceContext{}, list: &v1alpha1.ServiceContextList{}, hub: described("ServiceContext", nil),
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
