package clusters

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// server is a real API server with the definitions of Cluster API and its providers.
type server struct {
	client    dynamic.Interface
	namespace string
	served    map[schema.GroupVersionKind]served
}

type served struct {
	resource schema.GroupVersionResource
	schema   any
}

// install brings the definitions that tools/capi extracted onto an API server.
func install(t *testing.T) *server {
	t.Helper()
	cluster := kube.New(t, kube.ClusterConfig{Name: "management"})
	config := rest.CopyConfig(cluster.Config())
	config.QPS, config.Burst = 200, 400
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{client: client, namespace: cluster.Namespace(t), served: map[schema.GroupVersionKind]served{}}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, crd := range extracted(t) {
		version := list(crd, "spec", "versions")[0]
		group, name := at(crd, "spec", "group").(string), at(version, "name").(string)
		s.served[schema.GroupVersionKind{Group: group, Version: name, Kind: at(crd, "spec", "names", "kind").(string)}] = served{
			schema.GroupVersionResource{Group: group, Version: name, Resource: at(crd, "spec", "names", "plural").(string)},
			at(version, "schema", "openAPIV3Schema"),
		}
		text, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := definitions.Patch(t.Context(), at(crd, "metadata", "name").(string), types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "test", FieldValidation: "Strict"}); err != nil {
			t.Fatal(err)
		}
	}
	eventually.For(t, time.Minute, "all definitions are served", func() error {
		for kind, one := range s.served {
			if _, err := client.Resource(one.resource).Namespace(s.namespace).List(t.Context(), metav1.ListOptions{}); err != nil {
				return fmt.Errorf("%s: %w", kind.Kind, err)
			}
		}
		return nil
	})
	return s
}

func extracted(t *testing.T) []object {
	t.Helper()
	packed, err := os.ReadFile("testdata/definitions.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var crds []object
	if err := json.NewDecoder(text).Decode(&crds); err != nil {
		t.Fatal(err)
	}
	return crds
}

// judge is everything that the API server and the definitions say about a template.
func (s *server) judge(ctx context.Context, t *template) error {
	failed := []error{s.paths(t)}
	for _, o := range t.objects {
		failed = append(failed, s.accepts(ctx, "as it is in the folder", o))
	}
	places, err := t.places()
	failed = append(failed, err)
	for label, variables := range t.variants() {
		cluster := t.cluster("one", t.class().GetName(), variables)
		failed = append(failed, s.accepts(ctx, label, &unstructured.Unstructured{Object: plain(cluster).(object)}))
		for _, p := range places {
			made, err := t.patched(p, t.seen(p, cluster))
			if err == nil {
				err = s.accepts(ctx, label, made)
			}
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// seen are the values of the variables for a place: those of the Cluster, and those of the
// first pool of its class.
func (t *template) seen(p place, cluster object) object {
	values := object{}
	take := func(from []any) {
		for _, v := range from {
			values[at(v, "name").(string)] = at(v, "value")
		}
	}
	for _, v := range list(t.class().Object, "spec", "variables") {
		if d := at(v, "schema", "openAPIV3Schema", "default"); d != nil {
			values[at(v, "name").(string)] = d
		}
	}
	take(list(cluster, "spec", "topology", "variables"))
	for _, field := range []string{"machineDeployments", "machinePools"} {
		for _, pool := range list(cluster, "spec", "topology", "workers", field) {
			if at(pool, "class") == p.class {
				take(list(pool, "variables", "overrides"))
				return values
			}
		}
	}
	return values
}

// paths looks every path of the patches up in the schema of what they change. A server that
// takes the changed object has not seen a path that leads into free fields of another one.
func (s *server) paths(t *template) error {
	var failed []error
	for _, d := range t.definitions() {
		version, _ := d.selector["apiVersion"].(string)
		kind, _ := d.selector["kind"].(string)
		one, ok := s.served[schema.FromAPIVersionAndKind(version, kind)]
		if !ok {
			failed = append(failed, fmt.Errorf("patch %s: %s of %s is not served", d.patch, kind, version))
			continue
		}
		for _, c := range d.changes {
			pointer, _ := at(c, "path").(string)
			if !strings.HasPrefix(pointer, "/spec/template/") {
				failed = append(failed, fmt.Errorf("patch %s: %s is not below /spec/template", d.patch, pointer))
			} else if err := field(one.schema, pointer); err != nil {
				failed = append(failed, fmt.Errorf("patch %s: %s %w", d.patch, kind, err))
			}
		}
	}
	return errors.Join(failed...)
}

// accepts is a dry run of a create with strict validation.
func (s *server) accepts(ctx context.Context, label string, o *unstructured.Unstructured) error {
	one, ok := s.served[o.GroupVersionKind()]
	if !ok {
		return fmt.Errorf("%s %s: the API server has no such kind", o.GetAPIVersion(), o.GetKind())
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	if _, err = s.client.Resource(one.resource).Namespace(s.namespace).Patch(ctx, o.GetName(), types.ApplyPatchType, text,
		metav1.PatchOptions{FieldManager: "test", FieldValidation: "Strict", DryRun: []string{metav1.DryRunAll}}); err != nil {
		return fmt.Errorf("%s: %s %s: %w", label, o.GetKind(), o.GetName(), err)
	}
	return nil
}
