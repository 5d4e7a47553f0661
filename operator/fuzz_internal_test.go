package operator

import (
	"log/slog"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/internal/taken"
	"github.com/axle-cd/axle/operator/ownership"
)

// FuzzObjects decodes any text as an object of each kind that the operator watches, as its
// cache does.
func FuzzObjects(f *testing.F) {
	o, err := Config{Namespace: DefaultNamespace, Log: slog.New(slog.DiscardHandler)}.options()
	if err != nil {
		f.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(o.Scheme).UniversalDeserializer()
	for kind := range o.Scheme.AllKnownTypes() {
		version, name := kind.ToAPIVersionAndKind()
		f.Add(`"apiVersion":"` + version + `","kind":"` + name + `","metadata":{"name":"a","managedFields":[{"subresource":"status","manager":"x","time":"2026-01-01T00:00:00Z"}]},"spec":{},"status":{"conditions":[{}]}`)
	}
	f.Add(`"apiVersion":"deployments.plural.sh/v1alpha1","kind":"ServiceDeployment","spec":{"configuration":{},"helm":{"values":{"a":[[],{}]}},"dependencies":[{},null]}`)
	f.Add(`"apiVersion":"v1","kind":"Secret","data":{"a":"!"}`)
	f.Fuzz(func(t *testing.T, text string) {
		text = "{" + text + "}"
		// A list of a kind with the largest structure is the worst that there is.
		taken.Few(t, 4*len(text), func() {
			got, _, err := decoder.Decode([]byte(text), nil, nil)
			if err != nil {
				return
			}
			if _, err := o.Cache.DefaultTransform(got); err != nil {
				t.Error(err)
			}
			if object, ok := got.(client.Object); ok {
				ownership.Rival(object, time.Minute)
			}
		})
	})
}
