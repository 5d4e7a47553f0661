package manifest

import (
	"cmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// ofOperator converts the kinds that only the operator reads. In files they are an
// error: what they need, such as Secrets to write, is in the management cluster.
func (d document) ofOperator(values Values) (*Item, error) {
	if _, inFiles := values.(files); inFiles || d.meta.Kind == "NamespaceCredentials" {
		return nil, errcode.New(errcode.Invalid, "%s: %s %q is for the operator; apply it to the management cluster with kubectl", d.where, d.meta.Kind, d.meta.Name)
	}
	return d.group()
}

func (d document) group() (*Item, error) {
	var object v1alpha1.Group
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	name := cmp.Or(value(object.Spec.Name), object.Name)
	return &Item{Kind: d.meta.Kind, Name: name, Where: d.where,
		Request:   &hubv1.CreateGroupRequest{Name: name, Description: value(object.Spec.Description)},
		NotActing: set(map[string]bool{"spec.global": value(object.Spec.Global)}),
	}, nil
}
