package clusters

import (
	"bytes"
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
)

// A skeleton has no version that the hub refuses, and does not pass over the add-on either.
func TestSkeletonsHaveVersionsOnly(t *testing.T) {
	answer := func(all ...*hubv1.ReadinessAddon) *hubv1.ReadinessResponse {
		return &hubv1.ReadinessResponse{Cluster: "edge", Checks: []*hubv1.ReadinessCheck{{Addons: all}}}
	}
	for name, tc := range map[string]struct {
		answer     *hubv1.ReadinessResponse
		says, lies string
	}{
		"a word for a version": {answer(&hubv1.ReadinessAddon{Name: "mesh", Release: "mesh", Namespace: "net", Version: "latest", Verdict: "VersionUnknown", Message: "its version is latest"}), "release net/mesh is left out: its version is latest", "every add-on"},
		"no name":              {answer(&hubv1.ReadinessAddon{Object: "ClusterRole mesh", Verdict: "AddonUnknown", Message: "it names no chart"}), "ClusterRole mesh is left out: it names no chart", "every add-on"},
		"all are known":        {answer(&hubv1.ReadinessAddon{Name: "mesh", Version: "1.0.0", Verdict: "Compatible"}), "every add-on that you may see is known", "left out"},
	} {
		var out, errs bytes.Buffer
		a := &command.App{}
		a.Out, a.Err = &out, &errs
		if err := printSkeleton(t.Context(), a, nil, tc.answer); err != nil || out.Len() > 0 {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
		if got := errs.String(); !strings.Contains(got, tc.says) || strings.Contains(got, tc.lies) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
