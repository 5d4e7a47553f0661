package backend

import (
	"testing"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzAnswers reads any answer of a cloud's store of secrets, as an error and as a secret.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{`{"__type":"com.amazonaws#AccessDeniedException"}`, `{"__type":"#"}`, `{"a":"b","c":{"d":[1,2]},"e":null}`, `{"a":1,"a":2}`, `[]`, `null`, ``, `plain`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		taken.Few(t, len(text), func() {
			_ = (&AWS{}).refusal("a/b", answer{400, text})
			values := fields(string(text))
			var into map[string]any
			if decode("it", answer{200, text}, &into) == nil && into != nil && len(values) != len(into) {
				t.Errorf("%d fields of %d", len(values), len(into))
			}
		})
	})
}
