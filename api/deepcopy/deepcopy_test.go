package deepcopy_test

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/axle-cd/axle/api/deepcopy"
)

// shapes has a field of every shape that types of kinds have.
type shapes struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Pointer *string
	Texts   []string
	Bytes   []byte
	Structs []inner
	Map     map[string]inner
	Lists   map[string][]string
	Inner   inner
	Deep    *inner
	Raw     *runtime.RawExtension
	Time    *metav1.Time
	None    *inner
	Empty   []string
	Nothing map[string]string
	Number  int64
}

type inner struct {
	Of   *inner
	Tags map[string]string
}

func made() *shapes {
	text := "a"
	at := metav1.NewTime(time.Unix(1, 0))
	return &shapes{
		TypeMeta:   metav1.TypeMeta{Kind: "Shapes"},
		ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"a": "b"}, Finalizers: []string{"f"}, DeletionTimestamp: &at},
		Pointer:    &text, Texts: []string{"a"}, Bytes: []byte("a"), Structs: []inner{{Tags: map[string]string{"a": "b"}}},
		Map: map[string]inner{"a": {Of: &inner{Tags: map[string]string{"a": "b"}}}}, Lists: map[string][]string{"a": {"b"}},
		Inner: inner{Tags: map[string]string{"a": "b"}}, Deep: &inner{Of: &inner{}}, Raw: &runtime.RawExtension{Raw: []byte(`{"a":1}`)},
		Time: &at, Empty: []string{}, Number: 7,
	}
}

func TestCopyIsEqualAndSharesNothing(t *testing.T) {
	in := made()
	out := deepcopy.Of(in)
	if !reflect.DeepEqual(in, out) {
		t.Fatalf("the copy is\n%+v\nof\n%+v", out, in)
	}
	*out.Pointer, out.Texts[0], out.Bytes[0], out.Structs[0].Tags["a"] = "z", "z", 'z', "z"
	out.Labels["a"], out.Finalizers[0] = "z", "z"
	out.Map["a"].Of.Tags["a"], out.Lists["a"][0], out.Inner.Tags["a"], out.Deep.Of.Tags = "z", "z", "z", map[string]string{}
	out.Raw.Raw[0], out.Number = '[', 8
	*out.Time, *out.DeletionTimestamp = metav1.Now(), metav1.Now()
	if !reflect.DeepEqual(in, made()) {
		t.Errorf("a change of the copy changed the original to\n%+v", in)
	}
}

func TestCopyOfNothing(t *testing.T) {
	if deepcopy.Of[shapes](nil) != nil {
		t.Error("the copy of nil is not nil")
	}
}

func BenchmarkOf(b *testing.B) {
	in := made()
	for b.Loop() {
		deepcopy.Of(in)
	}
}
