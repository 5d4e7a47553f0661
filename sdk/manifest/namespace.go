package manifest

import (
	"cmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// namespace converts a ManagedNamespace.
func (d document) namespace(values Values) (*Item, error) {
	var object v1alpha1.ManagedNamespace
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	name := cmp.Or(value(spec.Name), object.Name)
	request := &hubv1.ApplyManagedNamespaceRequest{Name: name, Settings: &hubv1.ManagedNamespaceSettings{
		Description: value(spec.Description), Labels: spec.Labels, Annotations: spec.Annotations, PullSecrets: spec.PullSecrets, Cascade: cascade(spec.Cascade),
	}}
	if spec.ProjectRef != nil {
		request.Settings.Project = spec.ProjectRef.Name
	}
	if spec.Target != nil {
		request.Settings.Tags, request.Settings.Distro = spec.Target.Tags, value(spec.Target.Distro)
	}
	item := &Item{Kind: d.meta.Kind, Name: name, Where: d.where, Namespace: request}
	notActing := map[string]bool{"spec.reconciliation": spec.Reconciliation != nil}
	if t := spec.Service; t != nil {
		var err error
		if request.Spec, err = d.template(values, *t, name, object.Namespace); err != nil {
			return nil, errcode.New(errcode.Invalid, "%s: ManagedNamespace %q: spec.service: %w", d.where, object.Name, err)
		}
		// The service is called NAME-core, and is in the namespace.
		request.Spec.Namespace = ""
		notActing["spec.service.name"] = value(t.Name) != "" && value(t.Name) != name+"-core"
		notActing["spec.service.namespace"] = value(t.Namespace) != "" && value(t.Namespace) != name
		notActing["spec.service.helm.valuesFrom"] = t.Helm != nil && t.Helm.ValuesFrom != nil
		notActing["spec.service.helm.valuesConfigMapRef"] = t.Helm != nil && t.Helm.ValuesConfigMapRef != nil
	}
	item.NotActing = set(notActing)
	return item, nil
}

// cascade is what the hub calls it.
func cascade(c *v1alpha1.Cascade) string {
	switch {
	case c != nil && value(c.Delete):
		return "delete"
	case c != nil && value(c.Detach):
		return "detach"
	}
	return ""
}
