package ownership

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldManager is the name under which the API server records the operator's writes:
// its user agent up to the first slash.
const FieldManager = "axle-operator"

// RivalReason and RivalNote are those of the event of a rival; the note has its name.
const (
	RivalReason = "OtherController"
	RivalNote   = "the controller %s writes the status of this object: the operator does nothing until it has been quiet for 5 minutes; stop one of the two (docs/operator.md)"
)

// Trim is a transform of a cache. It drops the managed fields of objects, which are
// half of their memory, except for who else wrote a status, and when.
func Trim(in any) (any, error) {
	o, ok := in.(client.Object)
	if !ok || o.GetManagedFields() == nil {
		return in, nil
	}
	var others []metav1.ManagedFieldsEntry
	for _, f := range o.GetManagedFields() {
		if f.Subresource == "status" && f.Manager != FieldManager && f.Time != nil {
			others = append(others, metav1.ManagedFieldsEntry{Manager: f.Manager, Subresource: f.Subresource, Time: f.Time})
		}
	}
	o.SetManagedFields(others)
	return in, nil
}

// Rival returns who else wrote the status of a custom resource within the time quiet, and
// for how long it must write no more before the operator acts. Only a controller writes
// a status, and two of them on one object would each undo what the other did.
func Rival(o client.Object, quiet time.Duration) (name string, left time.Duration) {
	for _, f := range o.GetManagedFields() {
		if f.Subresource != "status" || f.Manager == FieldManager || f.Time == nil {
			continue
		}
		if wait := quiet - time.Since(f.Time.Time); wait > left {
			name, left = f.Manager, wait
		}
	}
	return name, left
}
