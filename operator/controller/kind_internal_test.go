package controller

import (
	"reflect"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/api/v1alpha1"
)

// A kind's status and its reconciliation are found by the names of their fields.
func TestEveryKindHasTheCommonParts(t *testing.T) {
	with := 0
	for _, k := range all() {
		o := k.object.DeepCopyObject().(client.Object)
		of, often := reflect.ValueOf(o).Elem(), &v1alpha1.Reconciliation{}
		if field := of.FieldByName("Spec").FieldByName("Reconciliation"); field.IsValid() {
			field.Set(reflect.ValueOf(often))
			if with++; k.common(o).reconciliation != often {
				t.Errorf("%s: its reconciliation is not found", k.name)
			}
		}
		if id := "id"; k.common(o).status == nil {
			t.Errorf("%s: no status", k.name)
		} else if k.common(o).status.ID = &id; of.FieldByName("Status").FieldByName("ID").Interface().(*string) != &id {
			t.Errorf("%s: another status", k.name)
		}
	}
	if with < 20 {
		t.Errorf("%d kinds have a reconciliation", with)
	}
}
