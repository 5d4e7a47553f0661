package kubeobj

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzPrint reduces an object with any managed fields, of our apply and of a scale.
func FuzzPrint(f *testing.F) {
	for _, text := range []string{`{"f:spec":{"f:replicas":{},"f:template":{}}}`, `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":[]}`, `{"f:stringData":{"f:a":{}}}`, `{"f:spec":{"f:\u003c":{}}}`, `[]`, `null`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		object := &metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(text)},
			{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale", FieldsV1: metav1.NewFieldsV1(text)},
			{Manager: "other", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(text)},
		}}
		var first Live
		taken.Few(t, len(text), func() { first = Reduce(Ref{Kind: "Secret", Name: "a"}, object) })
		if again := Reduce(Ref{Kind: "Secret", Name: "a"}, object); again.Print != first.Print {
			t.Errorf("%+v, then %+v", first.Print, again.Print)
		}
	})
}
