package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk/manifest"
)

func readGlobal(rollout string) ([]manifest.Item, error) {
	text := "apiVersion: deployments.plural.sh/v1alpha1\nkind: GlobalService\nmetadata: {name: web, namespace: infra}\n" +
		"spec:\n  rollout: " + rollout + "\n  template:\n    repositoryRef: {name: fleet}\n    git: {ref: main, folder: web}\n"
	return manifest.Read([]string{"-"}, func() ([]byte, error) { return []byte(text), nil })
}

func TestRolloutOfAGlobalService(t *testing.T) {
	items, err := readGlobal(`{waves: ["1", 25%, 100%], maxUnavailable: 5%, soak: 30m, failAfter: 90s, maxFailed: 10%}`)
	if err != nil {
		t.Fatal(err)
	}
	want := &hubv1.RolloutPlan{Waves: []string{"1", "25%", "100%"}, MaxUnavailable: "5%", SoakMicros: 1800e6, FailAfterMicros: 90e6, FailPercent: 10}
	if diff := cmp.Diff(want, items[0].Global.GetSettings().GetRollout(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	for rollout, says := range map[string]string{
		`{waves: ["1"], soak: soon}`:      `spec.rollout.soak: time: invalid duration "soon"`,
		`{waves: ["1"], maxFailed: many}`: `spec.rollout.maxFailed: "many" is not a percentage`,
		`{waves: ["1"], sook: 1m}`:        `unknown field "spec.rollout.sook"`,
	} {
		if _, err := readGlobal(rollout); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", rollout, err, says)
		}
	}
}
