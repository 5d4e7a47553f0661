package ignore

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/kubeobj"
)

func managed(manager string, op metav1.ManagedFieldsOperationType, sub, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: op, Subresource: sub, APIVersion: "apps/v1", FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestIgnoredFieldsAreFilledFromTheCluster(t *testing.T) {
	const (
		apply  = metav1.ManagedFieldsOperationApply
		update = metav1.ManagedFieldsOperationUpdate
	)
	mine := func(fields string) metav1.ManagedFieldsEntry {
		return managed(kubeobj.FieldManager, apply, "", fields)
	}
	set := func(elements ...string) string {
		owned := map[string]any{}
		for _, e := range elements {
			owned[fmt.Sprintf("v:%q", e)] = map[string]any{}
		}
		text, err := json.Marshal(map[string]any{"f:spec": map[string]any{"f:set": owned}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	replicas := `{"f:spec":{"f:replicas":{}}}`
	containers := `{"spec":{"containers":[{"name":"app","image":"a:1","env":[{"name":"A","value":"1"}]},{"name":"log","image":"l:1"}]}}`
	liveContainers := `{"spec":{"containers":[{"name":"mesh","image":"m:1"},{"name":"app","image":"a:2","env":[{"name":"A","value":"2"}]},{"name":"log","image":"l:2"}]}}`
	appOwner := `{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:name":{}}}}}`
	for name, test := range map[string]struct {
		desired, live, want string
		managers            []metav1.ManagedFieldsEntry
		paths               []string
	}{
		"the live value while it is ours alone": {`{"spec":{"replicas":2,"x":1}}`, `{"spec":{"replicas":12,"x":0}}`, `{"spec":{"replicas":12,"x":1}}`,
			[]metav1.ManagedFieldsEntry{mine(replicas)}, []string{"/spec/replicas"}},
		"left out once somebody else owns it too": {`{"spec":{"replicas":2,"x":1}}`, `{"spec":{"replicas":12}}`, `{"spec":{"x":1}}`,
			[]metav1.ManagedFieldsEntry{mine(replicas), managed("kcm", update, "scale", replicas)}, []string{"/spec/replicas"}},
		"gone from Git and ours alone: kept": {`{"spec":{"x":1}}`, `{"spec":{"replicas":12}}`, `{"spec":{"x":1,"replicas":12}}`,
			[]metav1.ManagedFieldsEntry{mine(replicas)}, []string{"/spec/replicas"}},
		"never ours: not taken": {`{"spec":{"x":1}}`, `{"spec":{"replicas":12}}`, `{"spec":{"x":1}}`,
			[]metav1.ManagedFieldsEntry{managed("kcm", update, "", replicas)}, []string{"/spec/replicas"}},
		"taken away by somebody": {`{"spec":{"replicas":2}}`, `{"spec":{}}`, `{"spec":{}}`, nil, []string{".spec.replicas"}},
		"elements by their name, not their place": {containers, liveContainers, `{"spec":{"containers":[{"name":"app","image":"a:2","env":[{"name":"A","value":"1"}]},{"name":"log","image":"l:2"}]}}`,
			nil, []string{".spec.containers[].image"}},
		"one element by jq": {containers, liveContainers, `{"spec":{"containers":[{"name":"app","image":"a:2","env":[{"name":"A","value":"1"}]},{"name":"log","image":"l:1"}]}}`,
			nil, []string{`.spec.containers[] | select(.name == "app") | .image`}},
		"one element that somebody else owns": {containers, liveContainers, `{"spec":{"containers":[{"name":"app","env":[{"name":"A","value":"1"}]},{"name":"log","image":"l:2"}]}}`,
			[]metav1.ManagedFieldsEntry{managed("updater", update, "", appOwner)}, []string{".spec.containers[].image"}},
		"an index by JSON pointer": {containers, liveContainers, `{"spec":{"containers":[{"name":"app","image":"a:2","env":[{"name":"A","value":"1"}]},{"name":"log","image":"l:1"}]}}`,
			nil, []string{"/spec/containers/0/image"}},
		"a whole element keeps its name": {containers, liveContainers, `{"spec":{"containers":[{"name":"app","image":"a:2","env":[{"name":"A","value":"2"}]},{"name":"log","image":"l:1"}]}}`,
			nil, []string{"/spec/containers/0"}},
		"everything of a manager": {containers, liveContainers, `{"spec":{"containers":[{"name":"app","env":[{"name":"A","value":"1"}]},{"name":"log","image":"l:1"}]}}`,
			[]metav1.ManagedFieldsEntry{managed("updater", update, "", appOwner)}, []string{"manager:upd*"}},
		"keys with slashes": {`{"metadata":{"annotations":{"a/b":"old","c":"1"}}}`, `{"metadata":{"annotations":{"a/b":"new","c":"2"}}}`,
			`{"metadata":{"annotations":{"a/b":"new","c":"1"}}}`, nil, []string{`.metadata.annotations["a/b"]`}},
		"a map of which a part is somebody's": {`{"data":{"a":"1","b":"1"}}`, `{"data":{"a":"2","b":"2","z":"9"}}`, `{"data":{"b":"2"}}`,
			[]metav1.ManagedFieldsEntry{managed("editor", update, "", `{"f:data":{"f:a":{},"f:z":{}}}`)}, []string{"/data"}},
		// Managers own the elements of a set by their values, of a custom resource as well.
		"an element of a set that somebody removed": {`{"spec":{"set":["a","b"]}}`, `{"spec":{"set":["a"]}}`, `{"spec":{"set":["a"]}}`,
			[]metav1.ManagedFieldsEntry{mine(set("a"))}, []string{".spec.set[]"}},
		"an element of a set that is gone from Git": {`{"spec":{"set":["a"]}}`, `{"spec":{"set":["b","a"]}}`, `{"spec":{"set":["b","a"]}}`,
			[]metav1.ManagedFieldsEntry{mine(set("a", "b"))}, []string{"/spec/set"}},
		"an element of a set that is new in Git": {`{"spec":{"set":["c","b","a"]}}`, `{"spec":{"set":["a","b"]}}`, `{"spec":{"set":["b","a"]}}`,
			[]metav1.ManagedFieldsEntry{mine(set("a", "b"))}, []string{".spec.set[]"}},
		"an element of a set that somebody added": {`{"spec":{"set":["b","a"]}}`, `{"spec":{"set":["a","b","z"]}}`, `{"spec":{"set":["b","a"]}}`,
			[]metav1.ManagedFieldsEntry{mine(set("a", "b")), managed("editor", update, "", set("z"))}, []string{".spec.set[]"}},
		"one element of a set, and not the others": {`{"spec":{"set":["a","b"]}}`, `{"spec":{"set":["c"]}}`, `{"spec":{"set":["a"]}}`,
			[]metav1.ManagedFieldsEntry{managed("editor", update, "", set("c"))}, []string{"/spec/set/1"}},
		"our marks are never theirs": {`{"metadata":{"annotations":{"axle-cd.github.io/service":"us","a":"1"}}}`, `{"metadata":{"annotations":{"axle-cd.github.io/service":"them","a":"2"}}}`,
			`{"metadata":{"annotations":{"axle-cd.github.io/service":"us","a":"2"}}}`, nil, []string{"/metadata/annotations"}},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(text string) (m map[string]any) {
				if err := json.Unmarshal([]byte(text), &m); err != nil {
					t.Fatal(err)
				}
				return m
			}
			got := read(test.desired)
			if _, err := Fill(got, read(test.live), test.managers, test.paths); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(read(test.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIgnoredFieldsThatAreNoPathsAreRefused(t *testing.T) {
	for _, text := range []string{"spec.replicas", ".spec | map(.x)", ".spec.a[] | select(.n > 1)", "..", ".a | select(.b == \"c\")"} {
		if err := Check(text); err == nil {
			t.Errorf("%s is a path", text)
		}
	}
}

func TestRulesChooseObjects(t *testing.T) {
	ref := kubeobj.Ref{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for name, test := range map[string]struct {
		rule Rule
		want int
	}{
		"all":            {Rule{}, 1},
		"its kind":       {Rule{Kind: "Deployment", Name: "we*", Namespace: "shop"}, 1},
		"another kind":   {Rule{Kind: "StatefulSet"}, 0},
		"another space":  {Rule{Namespace: "prod"}, 0},
		"a broken glob":  {Rule{Name: "[w"}, 0},
		"another object": {Rule{Name: "db"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			test.rule.Paths = []string{"/x"}
			if got := Paths([]Rule{test.rule}, ref, nil); len(got) != test.want {
				t.Errorf("%v", got)
			}
		})
	}
	got := Paths(nil, ref, map[string]string{"deployments.plural.sh/ignore-fields": "/a, /b\n.c"})
	if diff := cmp.Diff([]string{"/a", "/b", ".c"}, got); diff != "" {
		t.Error(diff)
	}
}
