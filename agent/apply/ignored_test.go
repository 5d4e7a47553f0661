package apply_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/ignore"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// part is one element of a list or one key of a map, with the value that others may set.
type part struct{ id, value string }

// shape is a list or a map in an object of some kind.
type shape struct {
	gvr schema.GroupVersionResource
	// object is all of the object but the list or map, at is where that is, and one is an
	// element of the list; a map has none.
	object string
	at     []string
	one    func(p part) any
	// id and value are the fields of an element, as they are in paths.
	id, value string
	// atomic: whoever writes one part writes all.
	atomic bool
}

func (s shape) build(name string, parts []part) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(s.object), &o.Object); err != nil {
		panic(err)
	}
	o.SetName(name)
	var content any
	if s.one != nil {
		var list []any
		for _, p := range parts {
			list = append(list, s.one(p))
		}
		content = list
	} else {
		m := map[string]any{}
		for _, p := range parts {
			m[p.id] = p.value
		}
		content = m
	}
	if err := unstructured.SetNestedField(o.Object, content, s.at...); err != nil {
		panic(err)
	}
	return o
}

// read returns the parts of a live object, in order of id.
func (s shape) read(o *unstructured.Unstructured) string {
	var all []string
	if s.one == nil {
		m, _, _ := unstructured.NestedStringMap(o.Object, s.at...)
		for id, value := range m {
			all = append(all, id+"="+value)
		}
	} else {
		list, _, _ := unstructured.NestedSlice(o.Object, s.at...)
		for _, e := range list {
			m, _ := e.(map[string]any)
			all = append(all, fmt.Sprintf("%v=%v", field(m, s.id), field(m, s.value)))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func field(m map[string]any, path string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(m, strings.Split(path, ".")...)
	return v
}

const listsCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"shapes.test.example.com"},
"spec":{"group":"test.example.com","scope":"Namespaced","names":{"kind":"Shape","plural":"shapes","singular":"shape"},"versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
"atomic":{"type":"array","items":{"type":"object","properties":{"to":{"type":"object","properties":{"host":{"type":"string"}}},"weight":{"type":"string"},"port":{"type":"integer","default":80}}}},
"keyed":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["id"],"items":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"weight":{"type":"string"}}}},
"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
"map":{"type":"object","additionalProperties":{"type":"string"}},
"whole":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}}}}}}}}]}}`

func shapesOf() map[string]shape {
	cr := schema.GroupVersionResource{Group: "test.example.com", Version: "v1", Resource: "shapes"}
	const object = `{"apiVersion":"test.example.com/v1","kind":"Shape","metadata":{}}`
	const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"app","image":"x"}]}}}}`
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	return map[string]shape{
		"atomic list of a CR": {gvr: cr, object: object, at: []string{"spec", "atomic"}, id: "to.host", value: "weight", atomic: true,
			one: func(p part) any {
				return map[string]any{"to": map[string]any{"host": p.id}, "weight": p.value}
			}},
		"keyed list of a CR": {gvr: cr, object: object, at: []string{"spec", "keyed"}, id: "id", value: "weight",
			one: func(p part) any { return map[string]any{"id": p.id, "weight": p.value} }},
		"map of a CR":        {gvr: cr, object: object, at: []string{"spec", "map"}},
		"atomic map of a CR": {gvr: cr, object: object, at: []string{"spec", "whole"}, atomic: true},
		"atomic list": {gvr: deployments, object: deployment, at: []string{"spec", "template", "spec", "tolerations"}, id: "key", value: "value", atomic: true,
			one: func(p part) any { return map[string]any{"key": p.id, "operator": "Equal", "value": p.value} }},
		"keyed list": {gvr: deployments, object: deployment, at: []string{"spec", "template", "spec", "containers"}, id: "name", value: "image",
			one: func(p part) any { return map[string]any{"name": p.id, "image": p.value} }},
		"list with two keys": {gvr: schema.GroupVersionResource{Version: "v1", Resource: "services"}, at: []string{"spec", "ports"}, id: "name", value: "appProtocol",
			object: `{"apiVersion":"v1","kind":"Service","metadata":{}}`,
			one: func(p part) any {
				return map[string]any{"name": p.id, "port": int64(p.id[0]), "appProtocol": p.value}
			}},
		"map":        {gvr: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, object: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}`, at: []string{"data"}},
		"atomic map": {gvr: schema.GroupVersionResource{Version: "v1", Resource: "services"}, object: `{"apiVersion":"v1","kind":"Service","metadata":{},"spec":{"ports":[{"port":80}]}}`, at: []string{"spec", "selector"}, atomic: true},
	}
}

// rulesOf are the spellings of a rule for the value of part a, which is at an index.
func (s shape) rulesOf(index int) map[string]string {
	pointer, jq := "/"+strings.Join(s.at, "/"), "."+strings.Join(s.at, ".")
	if s.one == nil {
		return map[string]string{"pointer": pointer + "/a", "jq": jq + ".a", "quoted": jq + `["a"]`, "manager": "manager:oth*"}
	}
	return map[string]string{
		"pointer": fmt.Sprintf("%s/%d/%s", pointer, index, s.value), "jq": jq + "[]." + s.value, "manager": "manager:oth*",
		"select": jq + `[] | select(.` + s.id + ` == "a") | .` + s.value,
	}
}

// Whatever the list, the rule and the change in Git: what others set stays, and
// everything else is as in Git.
func TestIgnoredFieldsOfEveryShape(t *testing.T) {
	b := newBed(t, nil)
	crds := b.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	crd := objects(t, listsCRD)[0]
	if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for shapeName, s := range shapesOf() {
		for change, v2 := range map[string][]part{
			"same":              {{"a", "1"}, {"b", "1"}},
			"reordered":         {{"b", "1"}, {"a", "1"}},
			"added":             {{"c", "1"}, {"a", "1"}, {"b", "1"}},
			"removed":           {{"a", "1"}},
			"another's changed": {{"a", "1"}, {"b", "2"}},
		} {
			index := slices.Index(v2, part{"a", "1"})
			for kind, rule := range s.rulesOf(index) {
				t.Run(shapeName+"/"+change+"/"+kind, func(t *testing.T) {
					b := *b
					b.t = t
					service := newService("d1")
					service.Ignore = []ignore.Rule{{Paths: []string{s.rulesOf(0)[kind]}}}
					first := []part{{"a", "1"}, {"b", "1"}}
					b.settled(service, s.build("x", first))
					theirs := s.build("x", []part{{"a", "9"}, {"b", "1"}})
					if !s.atomic {
						theirs = s.build("x", []part{{"a", "9"}})
					}
					b.writeAs("other", s, service.Namespace, theirs)
					service.TarballDigest, service.Ignore = "d2", []ignore.Rule{{Paths: []string{rule}}}
					after := s.build("x", v2)
					after.SetLabels(map[string]string{"v": "2"})
					b.settled(service, after)
					want := s.wanted(kind, v2)
					live, err := b.dynamic.Resource(s.gvr).Namespace(service.Namespace).Get(t.Context(), "x", metav1.GetOptions{})
					if err != nil {
						t.Fatal(err)
					}
					if got := s.read(live); got != want {
						t.Errorf("the cluster has %s, not %s; %v", got, want, live.GetManagedFields())
					}
				})
			}
		}
	}
}

// wanted is what has to be in the cluster.
func (s shape) wanted(kind string, v2 []part) string {
	var all []string
	for _, p := range v2 {
		switch {
		case p.id == "a":
			p.value = "9"
		case kind == "jq" && p.id == "b" && s.one != nil:
			p.value = "1" // the rule is about all elements
		}
		all = append(all, p.id+"="+p.value)
	}
	if kind == "manager" && s.atomic {
		return "a=9 b=1" // that manager has written all of it
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// settled makes a pass that must write everything.
func (b *bed) settled(service apply.Service, object *unstructured.Unstructured) apply.Result {
	b.t.Helper()
	var result apply.Result
	eventually.For(b.t, 10*time.Second, "the kind is served", func() error {
		var err error
		result, err = b.engine.Pass(b.t.Context(), b.permit(b.engine, service), service, []*unstructured.Unstructured{object})
		if text := fmt.Sprint(result.Problems); err == nil && result.Sync != apply.SyncSynced {
			if err = errors.New(text); !strings.Contains(text, "serve") && !strings.Contains(text, "unknown to this cluster") {
				b.t.Fatal(text)
			}
			b.engine.APIsChanged()
		}
		return err
	})
	return result
}

// writeAs applies as another manager, by force.
func (b *bed) writeAs(manager string, s shape, namespace string, object *unstructured.Unstructured) {
	b.t.Helper()
	body, err := object.MarshalJSON()
	if err != nil {
		b.t.Fatal(err)
	}
	force := true
	if _, err := b.dynamic.Resource(s.gvr).Namespace(namespace).Patch(b.t.Context(), object.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: &force}); err != nil {
		b.t.Fatal(err)
	}
}

// What moves within a field that is left to others is taken back without a heal, an
// element that cannot be found again loses its value and says so, and a sync that a
// person asks for accepts that.
func TestIgnoredFieldsThatAreLostAreNamed(t *testing.T) {
	b := newBed(t, nil)
	s := shapesOf()["atomic list"]
	const rule = ".spec.template.spec.tolerations[].value"
	service := newService("d1")
	service.Ignore = []ignore.Rule{{Paths: []string{rule}}}
	b.settled(service, s.build("x", []part{{"a", "1"}, {"b", "1"}}))
	ref := b.engine.Objects(service.ID)[0].Ref
	lost := func() string {
		expected, _ := b.engine.Expected(ref)
		return expected.Lost
	}
	for n := range 12 {
		b.writeAs("other", s, service.Namespace, s.build("x", []part{{"a", fmt.Sprint(20 + n)}, {"b", "1"}}))
		healed, err := b.engine.Heal(t.Context(), service.ID, []kubeobj.Ref{ref})
		if err != nil || len(healed) != 1 || !healed[0].Same {
			t.Fatalf("heal %d: %+v, %v", n, healed, err)
		}
	}
	b.writeAs("other", s, service.Namespace, s.build("x", []part{{"a", "9"}, {"z", "1"}}))
	healed, err := b.engine.Heal(t.Context(), service.ID, []kubeobj.Ref{ref})
	if err != nil || len(healed) != 1 || healed[0].Same || lost() != "" {
		t.Fatalf("what Git sets was changed: %+v, %v, lost %q", healed, err, lost())
	}
	service.TarballDigest = "d2"
	b.settled(service, s.build("x", []part{{"c", "1"}, {"b", "1"}}))
	if lost() != rule {
		t.Fatalf("lost is %q", lost())
	}
	if b.engine = b.restart(nil); lost() != rule {
		t.Errorf("after a restart lost is %q", lost())
	}
	b.settled(service, s.build("x", []part{{"c", "1"}, {"b", "1"}}))
	if lost() != rule {
		t.Errorf("after a pass lost is %q", lost())
	}
	service.SyncRequest++
	if _, ok := b.engine.Confirm(service); ok {
		t.Error("a sync is answered from memory")
	}
	b.settled(service, s.build("x", []part{{"c", "1"}, {"b", "1"}}))
	if lost() != "" {
		t.Errorf("after a sync lost is %q", lost())
	}
}

// The elements of a set are left to others one by one.
func TestIgnoredElementsOfASet(t *testing.T) {
	for name, test := range map[string]struct {
		rule, live, git, want string
	}{
		"the whole set":          {"/metadata/finalizers", "a/a", "a/a b/b", "a/a"},
		"all elements":           {".metadata.finalizers[]", "a/a", "a/a b/b", "a/a"},
		"the one that is gone":   {"/metadata/finalizers/1", "a/a", "a/a b/b", "a/a"},
		"one that is not gone":   {"/metadata/finalizers/0", "a/a", "a/a b/b", "a/a b/b"},
		"reordered":              {"/metadata/finalizers/1", "a/a", "b/b a/a", "a/a b/b"},
		"gone from Git, kept":    {".metadata.finalizers[]", "a/a b/b", "a/a", "a/a b/b"},
		"new in Git, not wanted": {".metadata.finalizers[]", "a/a b/b", "a/a b/b c/c", "a/a b/b"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, nil)
			service := newService("d1")
			object := func(finalizers string) string {
				return configMap("x", "v", "finalizers: ["+strings.ReplaceAll(finalizers, " ", ", ")+"]")
			}
			b.pass(service, object("a/a b/b"))
			patch := fmt.Sprintf(`{"metadata":{"finalizers":["%s"]}}`, strings.ReplaceAll(test.live, " ", `","`))
			if _, err := b.admin.CoreV1().ConfigMaps(service.Namespace).Patch(t.Context(), "x", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "other"}); err != nil {
				t.Fatal(err)
			}
			service.TarballDigest, service.Ignore = "d2", []ignore.Rule{{Paths: []string{test.rule}}}
			if result := b.pass(service, object(test.git)); result.Sync != apply.SyncSynced {
				t.Fatalf("%+v", result)
			}
			live, err := b.configMap(service.Namespace, "x")
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(live.Finalizers)
			if got := strings.Join(live.Finalizers, " "); got != test.want {
				t.Errorf("the cluster has %s", got)
			}
		})
	}
}
