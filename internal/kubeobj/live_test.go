package kubeobj_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/kubeobj"
)

func fields(manager string, operation metav1.ManagedFieldsOperationType, sub, raw string, age time.Duration) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(time.Unix(1000, 0).Add(-age))
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "apps/v1", Subresource: sub,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(raw), Time: &at}
}

const (
	applied  = metav1.ManagedFieldsOperationApply
	updated  = metav1.ManagedFieldsOperationUpdate
	ourSet   = `{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:replicas":{},"f:template":{}}}`
	shortSet = `{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:template":{}}}`
)

func TestFingerprint(t *testing.T) {
	ours := fields("axle-agent", applied, "", ourSet, 0)
	base := kubeobj.Print([]metav1.ManagedFieldsEntry{ours})
	later := fields("axle-agent", applied, "", ourSet, time.Hour)
	taken := fields("axle-agent", applied, "", shortSet, 0)
	for name, test := range map[string]struct {
		entries       []metav1.ManagedFieldsEntry
		intact, alone bool
	}{
		"the same at another time":       {[]metav1.ManagedFieldsEntry{later}, true, true},
		"a status is written":            {[]metav1.ManagedFieldsEntry{ours, fields("kcm", updated, "status", `{"f:status":{}}`, 0)}, true, true},
		"a controller writes":            {[]metav1.ManagedFieldsEntry{ours, fields("kcm", updated, "", `{"f:spec":{"f:x":{}}}`, 0)}, true, true},
		"a person adds":                  {[]metav1.ManagedFieldsEntry{ours, fields("kubectl-edit", updated, "", `{"f:spec":{"f:x":{}}}`, 0)}, true, false},
		"a person takes a field":         {[]metav1.ManagedFieldsEntry{taken, fields("kubectl", updated, "", `{"f:spec":{"f:replicas":{}}}`, 0)}, false, false},
		"an autoscaler takes replicas":   {[]metav1.ManagedFieldsEntry{taken, fields("hpa", updated, "scale", `{"f:spec":{"f:replicas":{}}}`, 0)}, true, true},
		"scaled, and another field gone": {[]metav1.ManagedFieldsEntry{fields("axle-agent", applied, "", `{"f:metadata":{}}`, 0), fields("hpa", updated, "scale", `{"f:spec":{"f:replicas":{}}}`, 0)}, false, true},
		"our entry is gone":              {[]metav1.ManagedFieldsEntry{fields("helm", updated, "", ourSet, 0)}, false, true},
		"only an update of ours":         {[]metav1.ManagedFieldsEntry{fields("axle-agent", updated, "", ourSet, 0)}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := kubeobj.Print(test.entries)
			if got.OwnIntact(base) != test.intact || (got.Foreign == base.Foreign) != test.alone {
				t.Errorf("intact %v, alone %v: %+v against %+v", got.OwnIntact(base), got.Foreign == base.Foreign, got, base)
			}
		})
	}
	one, two := fields("kubectl", updated, "", `{"f:a":{}}`, 0), fields("k9s", updated, "", `{"f:b":{}}`, time.Hour)
	if a, b := kubeobj.Print([]metav1.ManagedFieldsEntry{one, two}), kubeobj.Print([]metav1.ManagedFieldsEntry{two, one}); a != b || a.Human != "kubectl" {
		t.Errorf("the order of entries matters: %+v %+v", a, b)
	}
	escaped := fields("axle-agent", applied, "", `{"f:m":{"v:\"a\u003cb\"":{}}}`, 0)
	literal := fields("axle-agent", applied, "", `{"f:m":{"v:\"a<b\"":{}}}`, 0)
	if kubeobj.Print([]metav1.ManagedFieldsEntry{escaped}) != kubeobj.Print([]metav1.ManagedFieldsEntry{literal}) {
		t.Error("the way of reading an object changes its fingerprint")
	}
}

func TestOwnershipIsDecidedByBothAnnotations(t *testing.T) {
	ref := kubeobj.Ref{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "web"}
	if back, err := kubeobj.ParseTracking(ref.Tracking()); err != nil || back != ref {
		t.Errorf("%v %v", back, err)
	}
	for name, test := range map[string]struct {
		tracking string
		want     bool
	}{
		"ours": {ref.Tracking(), true}, "copied": {"apps/Deployment/ns/other", false}, "none": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			object := &metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: map[string]string{
				kubeobj.ServiceAnnotation: "s", kubeobj.TrackingAnnotation: test.tracking}}
			if got := kubeobj.Reduce(ref, object).Owned("s"); got != test.want {
				t.Errorf("owned %v", got)
			}
		})
	}
}
