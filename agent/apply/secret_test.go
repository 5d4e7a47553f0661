package apply_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/ignore"
	"github.com/axle-cd/axle/internal/kubeobj"
)

func secret(fields string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n" + fields
}

func (b *bed) secretData(namespace string) string {
	b.t.Helper()
	s, err := b.admin.CoreV1().Secrets(namespace).Get(b.t.Context(), "x", metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	var all []string
	for key, value := range s.Data {
		all = append(all, key+"="+string(value))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// What Git drops from stringData goes, what somebody changes comes back, and data and
// stringData may be mixed: as if all of it were data.
func TestStringDataIsOursLikeData(t *testing.T) {
	for name, test := range map[string]struct {
		v1, v2 string
		strict bool
		ignore []string
		// edit is a merge patch by a person, between the revisions or after them.
		edit string
		want string
	}{
		"a key is dropped":              {v1: "stringData: {a: one, b: two}", v2: "stringData: {a: one}", want: "a=one"},
		"all keys are dropped":          {v1: "stringData: {a: one, b: two}", v2: "type: Opaque", want: ""},
		"a key moves to data":           {v1: "stringData: {a: one, b: two}", v2: "data: {a: bmV3}", want: "a=new"},
		"a key moves from data":         {v1: "data: {a: bmV3, b: bmV3}", v2: "stringData: {a: one}", want: "a=one"},
		"stringData wins":               {v1: "stringData: {a: one}", v2: "data: {a: bmV3, b: bmV3}\nstringData: {a: one}", want: "a=one b=new"},
		"a value is changed":            {v1: "stringData: {a: one}", v2: "stringData: {a: one}", edit: `{"data":{"a":"bmV3"}}`, want: "a=one"},
		"a value is changed, strict":    {v1: "stringData: {a: one}", v2: "stringData: {a: one}", edit: `{"data":{"a":"bmV3"}}`, strict: true, want: "a=one"},
		"a value is changed as text":    {v1: "stringData: {a: one}", v2: "stringData: {a: one}", edit: `{"stringData":{"a":"new"}}`, want: "a=one"},
		"a key is removed":              {v1: "stringData: {a: one}", v2: "stringData: {a: one}", edit: `{"data":{"a":null}}`, want: "a=one"},
		"a person adds a key":           {v1: "stringData: {a: one}", v2: "stringData: {a: one}", edit: `{"data":{"p":"bmV3"}}`, want: "a=one p=new"},
		"a person adds a key, strict":   {v1: "stringData: {a: one}", v2: "stringData: {a: one}", edit: `{"data":{"p":"bmV3"}}`, strict: true, want: "a=one"},
		"a key is left to others":       {v1: "stringData: {a: one, b: two}", v2: "stringData: {a: one, b: three}", ignore: []string{"/data/a"}, edit: `{"data":{"a":"bmV3"}}`, want: "a=new b=three"},
		"a key is left to others, text": {v1: "stringData: {a: one, b: two}", v2: "stringData: {a: one, b: three}", ignore: []string{".stringData.a"}, edit: `{"data":{"a":"bmV3"}}`, want: "a=new b=three"},
	} {
		// Before the upgrade, the first revision was applied as it is.
		for _, upgraded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/upgraded=%v", name, upgraded), func(t *testing.T) {
				b := newBed(t, nil)
				service := newService("d1")
				service.Strict, service.Ignore = test.strict, []ignore.Rule{{Paths: test.ignore}}
				b.pass(service, secret(test.v1))
				if upgraded {
					b.asBefore(service.Namespace)
				}
				if test.edit != "" {
					if _, err := b.admin.CoreV1().Secrets(service.Namespace).Patch(t.Context(), "x", types.MergePatchType, []byte(test.edit), metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
						t.Fatal(err)
					}
				}
				service.TarballDigest = "d2"
				if result := b.pass(service, secret(test.v2)); result.Sync != apply.SyncSynced {
					t.Fatalf("%+v", result)
				}
				if got := b.secretData(service.Namespace); got != test.want {
					t.Errorf("the Secret has %q, not %q", got, test.want)
				}
				mark := b.mark()
				if result := b.pass(service, secret(test.v2)); result.Unchanged != 1 || len(b.requests(mark)) > 0 {
					t.Errorf("the next pass writes: %+v", result)
				}
			})
		}
	}
}

// asBefore makes the managedFields those of an agent that applied stringData as it was,
// and adds a key that Git dropped then, which nobody owns.
func (b *bed) asBefore(namespace string) {
	b.t.Helper()
	secrets := b.admin.CoreV1().Secrets(namespace)
	live, err := secrets.Patch(b.t.Context(), "x", types.MergePatchType, []byte(`{"data":{"dropped":"b2xk"}}`), metav1.PatchOptions{FieldManager: "nobody"})
	if err != nil {
		b.t.Fatal(err)
	}
	var fields []metav1.ManagedFieldsEntry
	for _, e := range live.ManagedFields {
		if kubeobj.Ours(e) {
			e.FieldsV1 = metav1.NewFieldsV1(strings.Replace(string(e.FieldsV1.GetRawBytes()), `"f:data"`, `"f:stringData"`, 1))
		}
		if e.Manager != "nobody" {
			fields = append(fields, e)
		}
	}
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/metadata/managedFields", "value": fields}})
	if err != nil {
		b.t.Fatal(err)
	}
	if live, err = secrets.Patch(b.t.Context(), "x", types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil || !kubeobj.OwnsStrings(kubeobj.Ref{Kind: "Secret"}, live.ManagedFields) {
		b.t.Fatalf("%v %v", err, live.ManagedFields)
	}
}
