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
	"github.com/axle-cd/axle/test/capi"
	"github.com/axle-cd/axle/test/capi/provider"
	"github.com/axle-cd/axle/test/kube"
)

// server is a real API server with the definitions of Cluster API and its providers.
type server struct {
	cluster   *kube.Cluster
	client    dynamic.Interface
	namespace string
	served    map[schema.GroupVersionKind]served
}

type served struct {
	resource schema.GroupVersionResource
	schema   any
}

// install brings definitions of one version each onto an API server, or in their place those of
// whole, by name.
func install(t *testing.T, crds []object, whole map[string]object) *server {
	t.Helper()
	cluster := kube.New(t, kube.ClusterConfig{Name: "management"})
	config := rest.CopyConfig(cluster.Config())
	config.QPS, config.Burst = 200, 400
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{cluster: cluster, client: client, namespace: cluster.Namespace(t), served: map[schema.GroupVersionKind]served{}}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, crd := range crds {
		version := list(crd, "spec", "versions")[0]
		group, name := at(crd, "spec", "group").(string), at(version, "name").(string)
		s.served[schema.GroupVersionKind{Group: group, Version: name, Kind: at(crd, "spec", "names", "kind").(string)}] = served{
			schema.GroupVersionResource{Group: group, Version: name, Resource: at(crd, "spec", "names", "plural").(string)},
			at(version, "schema", "openAPIV3Schema"),
		}
		known := at(crd, "metadata", "name").(string)
		if found := whole[known]; found != nil {
			crd = found
		} else if at(crd, "metadata", "labels") == nil {
			// By it the core finds the version for its contract, and reconciles the class.
			at(crd, "metadata").(object)["labels"] = object{"cluster.x-k8s.io/v1beta2": name}
		}
		text, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := definitions.Patch(t.Context(), known, types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "test", FieldValidation: "Strict"}); err != nil {
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

// core starts the core manager. From then on its webhooks judge ClusterClasses and Clusters.
func (s *server) core(t *testing.T) {
	t.Helper()
	capi.Start(t, s.cluster)
}

// holds makes the objects of a template, so that the webhooks hold its Clusters against the
// class, and judges all that comes out of it.
func (s *server) holds(t *testing.T, made *template) {
	t.Helper()
	own := *s // two forks may have a class of one name
	own.namespace = own.cluster.Namespace(t)
	s = &own
	if err := made.static(t.Context()); err != nil {
		t.Error(err)
	}
	for _, o := range made.objects {
		if err := s.apply(t.Context(), "made", o, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	classes := s.served[made.class().GroupVersionKind()].resource
	// Before that, the webhooks take any variable.
	eventually.For(t, time.Minute, "the variables of the class", func() error {
		class, err := s.client.Resource(classes).Namespace(s.namespace).Get(t.Context(), made.class().GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range list(class.Object, "status", "conditions") {
			if at(c, "type") == "VariablesReady" && at(c, "status") == "True" && at(class.Object, "status", "observedGeneration") == class.GetGeneration() {
				return nil
			}
		}
		return fmt.Errorf("it is %v", at(class.Object, "status"))
	})
	if err := s.judge(t.Context(), made); err != nil {
		t.Error(err)
	}
	unknown := made.cluster("one", made.class().GetName(), made.complete())
	topology := at(unknown, "spec", "topology").(object)
	topology["variables"] = append(list(topology, "variables"), object{"name": "unknown", "value": "x"})
	err := s.accepts(t.Context(), "a variable that the class does not have", &unstructured.Unstructured{Object: plain(unknown).(object)})
	if err == nil || !strings.Contains(err.Error(), "spec.topology.variables[unknown]") {
		t.Errorf("the webhooks take a variable that the class does not have: %v", err)
	}
	t.Logf("%d objects, %d sets of variables", len(made.objects), len(made.variants()))
}

// extracted are the definitions that tools/capi took from the modules of the providers, and
// those of the provider of the test bed.
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
	for _, o := range provider.Definitions() {
		crds = append(crds, o.Object)
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
	return s.apply(ctx, label, o, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
}

func (s *server) apply(ctx context.Context, label string, o *unstructured.Unstructured, options metav1.PatchOptions) error {
	one, ok := s.served[o.GroupVersionKind()]
	if !ok {
		return fmt.Errorf("%s %s: the API server has no such kind", o.GetAPIVersion(), o.GetKind())
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	options.FieldManager, options.FieldValidation = "test", "Strict"
	if _, err = s.client.Resource(one.resource).Namespace(s.namespace).Patch(ctx, o.GetName(), types.ApplyPatchType, text, options); err != nil {
		return fmt.Errorf("%s: %s %s: %w", label, o.GetKind(), o.GetName(), err)
	}
	return nil
}
