package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/axle-cd/axle/api/spec/convert/converttest"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
)

// Every setting of a renderer reaches the render child, except where files come from,
// which the hub has resolved.
func TestEveryFieldOfARendererReachesTheChild(t *testing.T) {
	lost := converttest.Lost(func(r *specv1.Renderer) string {
		var text string
		for _, kind := range []string{r.Type, "EXEC", "WASM"} {
			one := *r
			one.Type = kind
			text += prototext.MarshalOptions{}.Format(stepOf(one).message(layout{}))
		}
		return text
	})
	want := []string{"helm.chart", "helm.chartPath", "helm.git", "helm.kustomizePostrender", "helm.repository", "helm.url", "helm.version"}
	if diff := cmp.Diff(want, lost); diff != "" {
		t.Errorf("fields that the child does not get (-want +got):\n%s", diff)
	}
}
