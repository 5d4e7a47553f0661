package preview

import (
	"testing"

	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzSecrets notes the values of any answer to a lookup of Secrets, and reads any text as an
// object that a child rendered.
func FuzzSecrets(f *testing.F) {
	for _, text := range []string{`{"metadata":{"namespace":"ns","name":"a"},"data":{"k":"aHVudGVyMg=="}}`, `{"items":[{"data":{"k":"!"}},{"data":null},{}]}`, `{"items":{}}`, `[]`, `null`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		taken.Few(t, len(text), func() {
			s := &secrets{values: map[string]string{}}
			s.note(text)
			s.seen()
			_, _ = (&render.Result{Objects: []render.Object{{JSON: text, Source: "a.yaml"}}}).Decoded()
		})
	})
}
