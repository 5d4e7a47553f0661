package manifest

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

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

// exportedCascade is the inverse of cascade.
func exportedCascade(text string) *v1alpha1.Cascade {
	yes := true
	switch text {
	case "delete":
		return &v1alpha1.Cascade{Delete: &yes}
	case "detach":
		return &v1alpha1.Cascade{Detach: &yes}
	}
	return nil
}

// ManagedNamespace exports a managed namespace. The secrets of its service stay in the hub.
func (e Exporter) ManagedNamespace(n *hubv1.ManagedNamespace) (Exported, error) {
	name, settings := n.GetName(), n.GetSettings()
	out := Exported{Kind: "ManagedNamespace", Name: name}
	meta, err := e.meta(true, objectName(name), keys(n.GetSpec().GetSecrets()))
	if err != nil {
		return out, err
	}
	spec := v1alpha1.ManagedNamespaceSpec{
		Description: unlessZero(settings.GetDescription()), Labels: settings.GetLabels(), Annotations: settings.GetAnnotations(), PullSecrets: settings.GetPullSecrets(),
		ProjectRef: reference(settings.GetProject()), Cascade: exportedCascade(settings.GetCascade()),
	}
	if meta.Name != name {
		spec.Name = &name
	}
	if len(settings.GetTags()) > 0 || settings.GetDistro() != "" {
		spec.Target = &v1alpha1.ClusterTarget{Tags: settings.GetTags(), Distro: unlessZero(settings.GetDistro())}
	}
	if from := n.GetSpec(); from != nil {
		// What the hub adds to every service of a managed namespace is not declared.
		from = proto.CloneOf(from)
		from.Namespace = ""
		from.Dependencies = slices.DeleteFunc(from.GetDependencies(), func(d *hubv1.Dependency) bool { return d.GetName() == name+"-ns" && d.GetCluster() == "" })
		if from.GetSyncConfig() != nil {
			from.SyncConfig.CreateNamespace = nil
			if proto.Size(from.GetSyncConfig()) == 0 {
				from.SyncConfig = nil
			}
		}
		declared, wrong := out.spec(from)
		spec.Service, err = &declared.ServiceTemplate, wrong
	}
	out.Object = &v1alpha1.ManagedNamespace{TypeMeta: typeMeta("ManagedNamespace"), ObjectMeta: meta, Spec: spec}
	return out, err
}
