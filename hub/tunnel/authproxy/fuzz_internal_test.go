package authproxy

import (
	"strings"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzAnswers reads any answer of a cluster to the hub's own questions: a refusal, and the events
// of a watch.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n{\"type\":\"BOOKMARK\"}\n", "{\"type\":7}\n", `{"kind":"Status","reason":"Forbidden","message":"no"}`, "\n\n", "null", "[]", ""} {
		f.Add(uint16(403), text)
		f.Add(uint16(200), text)
	}
	f.Fuzz(func(t *testing.T, code uint16, text string) {
		taken.Few(t, 4*len(text), func() {
			if err := refusal(&agentv1.StreamAnswer{Status: int32(code)}, strings.NewReader(text)); err != nil && errcode.Of(err) == errcode.Internal {
				t.Errorf("what a cluster answers is no fault of the hub: %v", err)
			}
			kept := 0
			_ = events(strings.NewReader(text), func(e Event) error { kept += len(e.Object) + len(e.Type); return nil })
			if kept > 3*len(text) {
				t.Errorf("%d bytes of %d", kept, len(text))
			}
		})
	})
}
