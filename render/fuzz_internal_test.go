package render

import (
	"bytes"
	"io"
	"testing"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/frame"
	"github.com/axle-cd/axle/internal/taken"
	"github.com/axle-cd/axle/internal/tree"
)

// FuzzTexts reads any text as each variable of the templates, and as the answer to a lookup.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{`{"a":1000000,"b":[1.5,9007199254740993]}`, `{"a":1e400}`, `{"a":1}{`, `[]`, `null`, ``, `{"a":[[],{}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var in bytes.Buffer
		if err := frame.Write(&in, &renderv1.ToChild{Message: &renderv1.ToChild_Lookup{Lookup: &renderv1.LookupAnswer{Object: text}}}); err != nil {
			return // a string of protobuf is UTF-8
		}
		taken.Few(t, 8*len(text), func() {
			p := newPass(tree.New(), &renderv1.Begin{Cluster: string(text), Service: string(text), Contexts: string(text), Imports: string(text)}, nil, nil)
			_, _ = p.bindings()
			object, err := (&parent{in: &in, out: io.Discard}).lookup("v1", "ConfigMap", "ns", "a")
			if err == nil && object == nil && string(bytes.TrimSpace(text)) != "null" {
				t.Errorf("%q is nothing", text)
			}
		})
	})
}
