package packedobj_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/packedobj"
)

func objects(t *testing.T, texts ...string) []*unstructured.Unstructured {
	t.Helper()
	list := []*unstructured.Unstructured{}
	for _, text := range texts {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	return list
}

// What comes out is what went in: whole numbers stay whole, and lists of
// objects are objects.
func TestListsComeBackAsTheyWere(t *testing.T) {
	for name, list := range map[string][]*unstructured.Unstructured{
		"none": {},
		"some": objects(t,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"html":"<&>\u2028"}}`,
			`{"apiVersion":"x.test/v1","kind":"Thing","spec":{"n":9007199254740993,"f":1.5,"none":null,"empty":[]}}`,
			`{"apiVersion":"v1","kind":"ThingList","items":[{"apiVersion":"v1","kind":"Thing"}]}`),
	} {
		got := packedobj.Pack(list).Open()
		if got == nil || !reflect.DeepEqual(got, list) {
			t.Errorf("%s: %+v, not %+v", name, got, list)
		}
	}
	if packedobj.List(nil).Open() != nil || packedobj.List("broken").Open() != nil {
		t.Error("nothing is something")
	}
}

// TestPackedTakesWhatItSays: the encoder's room is not kept.
func TestPackedTakesWhatItSays(t *testing.T) {
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"text":%q}}`, strings.Repeat("settings ", 50_000))
	list := packedobj.Pack(objects(t, text))
	if len(list) > len(text)/50 || cap(list) > 2*len(list) {
		t.Errorf("%d bytes take %d, in room of %d", len(text), len(list), cap(list))
	}
}
