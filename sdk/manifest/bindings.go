package manifest

import (
	"cmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// bindings is what the bindings of an object declare at its place: an AccessBinding. It is
// nil for none. Rights are given to people and groups by name: an id is that of another
// system, and does not act.
func (d document) bindings(b *v1alpha1.Bindings, name string, place *hubv1.Place) (_ *Item, notActing []string, _ error) {
	if b == nil {
		return nil, nil, nil
	}
	item := &Item{Kind: "AccessBinding", Name: name, Where: d.where, Request: &hubv1.ListBindingsRequest{At: place}}
	for _, of := range []struct {
		action string
		to     []v1alpha1.Binding
	}{{"read", b.Read}, {"write", b.Write}, {"create", b.Create}, {"git", b.Git}} {
		for _, to := range of.to {
			request := &hubv1.CreateBindingRequest{SubjectKind: "user", Subject: value(to.UserEmail), Place: place, Actions: []string{of.action}}
			if group := value(to.GroupName); group != "" {
				request.SubjectKind, request.Subject = "group", group
			}
			switch id := cmp.Or(value(to.UserID), value(to.GroupID), value(to.ID)); {
			case request.GetSubject() != "":
				item.Set = append(item.Set, request)
			case id == "":
				return nil, nil, errcode.New(errcode.Invalid, "%s: %s %q: spec.bindings.%s: a binding names nobody; set userEmail or groupName", d.where, d.meta.Kind, d.meta.Name, of.action)
			default:
				notActing = append(notActing, "spec.bindings."+of.action+"[] by id")
			}
		}
	}
	return item, notActing, nil
}

// deploymentSettings are the bindings of the whole hub; its other fields do not act.
func (d document) deploymentSettings(values Values) (*Item, error) {
	var object v1alpha1.DeploymentSettings
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	if object.Name != "global" || object.Namespace != "plrl-deploy-operator" {
		return nil, errcode.New(errcode.Invalid, "%s: DeploymentSettings %q: only the object global in the namespace plrl-deploy-operator is used; this one is ignored", d.where, object.Namespace+"/"+object.Name)
	}
	spec := object.Spec
	bindings := spec.Bindings
	if bindings == nil {
		bindings = &v1alpha1.Bindings{}
	}
	item, byID, err := d.bindings(bindings, "hub", &hubv1.Place{})
	if err != nil {
		return nil, err
	}
	if _, inFiles := values.(files); !inFiles {
		item.Kind = d.meta.Kind
	}
	item.NotActing = append(set(map[string]bool{
		"spec.agentHelmValues": spec.AgentHelmValues != nil, "spec.agentHelmValuesTemplateable": spec.AgentHelmValuesTemplateable != nil, "spec.ai": spec.AI != nil,
		"spec.cost": spec.Cost != nil, "spec.deploymentRepositoryRef": spec.DeploymentRepositoryRef != nil, "spec.logging": spec.Logging != nil,
		"spec.lokiConnection": spec.LokiConnection != nil, "spec.managementRepo": spec.ManagementRepo != nil, "spec.metrics": spec.Metrics != nil,
		"spec.prometheusConnection": spec.PrometheusConnection != nil, "spec.scaffoldsRepositoryRef": spec.ScaffoldsRepositoryRef != nil, "spec.stacks": spec.Stacks != nil,
	}), byID...)
	return item, nil
}

// apart are items with the bindings of each as an item of its own.
func apart(items []Item) (out []Item) {
	for _, item := range items {
		access := item.Access
		item.Access = nil
		if out = append(out, item); access != nil && len(access.Set) > 0 {
			out = append(out, *access)
		}
	}
	return out
}
