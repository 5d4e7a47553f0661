package operator_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/operator"
)

// TestOtherValuesStayAsTheyWereWritten: values beside URLs, which axle apply writes of the
// same file, are written once. Each check after that reads the hub and finds them as they
// were declared.
func TestOtherValuesStayAsTheyWereWritten(t *testing.T) {
	b := newBed(t)
	ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "sre"})
	ask(b, b.people.ServiceAccounts.Create, &hubv1.CreateServiceAccountRequest{Name: "ci"})
	text, err := os.ReadFile("testdata/spellings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	often := quick
	often.Drift = 100 * time.Millisecond
	b.operateWith(operator.Config{TokenFile: b.tokenFile, Timing: often})
	var objects []client.Object
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := b.placed(document)
		written, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		b.apply(string(written))
		typed, err := b.Scheme().New(schema.FromAPIVersionAndKind(object.GetAPIVersion(), object.GetKind()))
		if err != nil {
			t.Fatal(err)
		}
		o := typed.(client.Object)
		o.SetName(object.GetName())
		o.SetNamespace(object.GetNamespace())
		objects = append(objects, o)
	}
	for _, o := range objects {
		b.synchronized(o)
	}
	for _, o := range objects {
		before, checked := b.gate.count(), b.reconciles(kindOf(o))
		eventually.For(b, limit, "three checks of "+kindOf(o), func() error {
			if n := b.reconciles(kindOf(o)); n < checked+3 {
				return errors.New("not yet")
			}
			return nil
		})
		for _, call := range b.gate.since(before) {
			if _, method, _ := strings.Cut(call, "/"); !strings.HasPrefix(method, "Get") && !strings.HasPrefix(method, "List") {
				t.Errorf("%s was called although nothing changed", call)
			}
		}
	}
}

// placed is a document, in the bed's namespace where its kind has one.
func (b *bed) placed(document string) *unstructured.Unstructured {
	b.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
		b.Fatal(err)
	}
	namespaced, err := b.IsObjectNamespaced(object)
	if err != nil {
		b.Fatal(err)
	}
	if namespaced {
		object.SetNamespace(b.namespace)
	}
	return object
}
