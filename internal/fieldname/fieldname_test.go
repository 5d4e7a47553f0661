package fieldname_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/fieldname"
	"github.com/axle-cd/axle/internal/kubeobj"
)

func entry(manager, fields string, age time.Duration) metav1.ManagedFieldsEntry {
	operation := metav1.ManagedFieldsOperationUpdate
	if manager == kubeobj.FieldManager {
		operation = metav1.ManagedFieldsOperationApply
	}
	at := metav1.NewTime(time.Unix(1000, 0).Add(-age))
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsV1: metav1.NewFieldsV1(fields), Time: &at}
}

const image = `{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{}}}}}`

func TestFieldsAreNamedWithTheirWriter(t *testing.T) {
	before := []metav1.ManagedFieldsEntry{entry("axle-agent", `{"f:data":{"f:a":{}}}`, 0), entry("old", image, time.Hour), entry("kubectl-edit", image, 0)}
	after := []metav1.ManagedFieldsEntry{entry("axle-agent", `{"f:data":{"f:a":{},"f:gone":{}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:image":{}}}}}`, 0)}
	got := fieldname.Taken(before, after)
	want := []kubeobj.FieldChange{{Path: ".data.gone", Removed: true}, {Path: `.spec.containers[name="app"].image`, Manager: "kubectl-edit"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if words := fieldname.Words(got); words != `.data.gone removed, .spec.containers[name="app"].image (by kubectl-edit)` {
		t.Error(words)
	}
}

func TestNoValueIsNamed(t *testing.T) {
	all := fieldname.Added([]metav1.ManagedFieldsEntry{entry("kubectl", `{"f:metadata":{"f:finalizers":{"v:\"hunter2\"":{}}}}`, 0)}, kubeobj.Human)
	if len(all) != 1 || all[0].Path != ".metadata.finalizers" {
		t.Errorf("%+v", all)
	}
}

func TestMoreThanTenAreCounted(t *testing.T) {
	var all []kubeobj.FieldChange
	for n := range 12 {
		all = append(all, kubeobj.FieldChange{Path: fmt.Sprintf(".a%d", n), Manager: "kubectl"})
	}
	if words := fieldname.Words(all); !strings.HasSuffix(words, ".a9 (by kubectl) and 2 more") || strings.Count(words, "kubectl") != 1 {
		t.Error(words)
	}
}

func TestRemoveTakesOutFieldsAndElements(t *testing.T) {
	var object map[string]any
	if err := json.Unmarshal([]byte(`{"metadata":{"finalizers":["a","b"],"labels":{"x":"1"}},"spec":{"list":[{"name":"one","v":1,"w":2},{"name":"two"}]}}`), &object); err != nil {
		t.Fatal(err)
	}
	set := fieldname.Of([]metav1.ManagedFieldsEntry{entry("m", `{"f:metadata":{"f:finalizers":{"v:\"a\"":{}},"f:labels":{"f:x":{}}},"f:spec":{"f:list":{"k:{\"name\":\"one\"}":{"f:v":{}},"k:{\"name\":\"two\"}":{".":{},"f:name":{}}}}}`, 0)},
		func(metav1.ManagedFieldsEntry) bool { return true })
	fieldname.Remove(object, set)
	got, err := json.Marshal(object)
	if err != nil || string(got) != `{"metadata":{"finalizers":["b"]},"spec":{"list":[{"name":"one","w":2}]}}` {
		t.Errorf("%s %v", got, err)
	}
}

func FuzzManagedFields(f *testing.F) {
	f.Add(image, `{"spec":{"containers":[{"name":"app","image":"x"}]}}`)
	f.Fuzz(func(t *testing.T, fields, object string) {
		e := []metav1.ManagedFieldsEntry{entry("kubectl", fields, 0)}
		if all := fieldname.Added(e, kubeobj.Human); len(fieldname.Words(all)) > 4096 {
			t.Error("a text without a bound")
		}
		var o map[string]any
		if json.Unmarshal([]byte(object), &o) == nil {
			fieldname.Remove(o, fieldname.Of(e, func(metav1.ManagedFieldsEntry) bool { return true }))
		}
	})
}
