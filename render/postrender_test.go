package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/render/rendertest"
)

// TestPostrender: the kustomization of one step changes only that step, its additions
// are there, and generated values are still marked, even if they were moved.
func TestPostrender(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: generated}\nstringData: {password: {{ randAlphaNum 8 }}, plain: a}\n"
	files := rendertest.Files{
		"app/raw/a.yaml":               from("a", "raw"),
		"app/raw/k/kustomization.yaml": "namePrefix: y-\npatches: [{path: patch.yaml, target: {name: a}}]\n",
		"app/raw/k/patch.yaml":         "- op: replace\n  path: /data/from\n  value: patched\n",
		"app/raw2/a.yaml":              from("a", "raw"),
		"app/chart/Chart.yaml":         "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"app/chart/templates/b.yaml":   from("b", "helm"),
		"app/secret/Chart.yaml":        "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"app/secret/templates/s.yaml":  secret,
		"app/post/kustomization.yaml":  "namePrefix: x-\nresources: [more.yaml]\npatches: [{path: patch.yaml, target: {name: b}}]\n",
		"app/post/more.yaml":           from("more", "post"),
		"app/post/patch.yaml":          "- op: replace\n  path: /data/from\n  value: patched\n",
		"app/bare/kustomization.yaml":  "nameSuffix: -y\n",
		"app/move/kustomization.yaml":  "replacements:\n- source: {kind: Secret, fieldPath: stringData.password}\n  targets: [{select: {kind: Secret}, fieldPaths: [stringData.copy], options: {create: true}}]\n",
		"app/name/kustomization.yaml":  "replacements:\n- source: {kind: Secret, fieldPath: stringData.password}\n  targets: [{select: {kind: Secret}, fieldPaths: [metadata.name]}]\n",
		"app/bad/kustomization.yaml":   "patches: [{path: nowhere.yaml}]\n",
	}
	tests := map[string]struct {
		steps    []*renderv1.Step
		want     string
		volatile []string
		fail     string
	}{
		"of a chart, not of raw": {
			steps: []*renderv1.Step{{Path: "raw2"}, {Path: "chart", Postrender: "post"}}, want: "a=raw x-more=post x-b=patched",
		},
		"of raw, which leaves the folder out": {
			steps: []*renderv1.Step{{Path: "raw", Postrender: "raw/k"}}, want: "y-a=patched",
		},
		"of each": {
			steps: []*renderv1.Step{{Path: "chart", Postrender: "bare"}, {Path: "chart", Postrender: "post"}}, want: "b-y=helm x-more=post x-b=patched",
		},
		"generated": {
			steps: []*renderv1.Step{{Path: "secret", Postrender: "bare"}}, want: "generated-y=", volatile: []string{"/stringData/password"},
		},
		"generated and moved": {
			steps: []*renderv1.Step{{Path: "secret", Postrender: "move"}}, want: "generated=", volatile: []string{"/stringData/copy", "/stringData/password"},
		},
		"generated name": {steps: []*renderv1.Step{{Path: "secret", Postrender: "name"}}, fail: "differs in each render"},
		"not there":      {steps: []*renderv1.Step{{Path: "raw2", Postrender: "none"}}, fail: "app/none: the folder of kustomizePostrender does not exist"},
		"outside":        {steps: []*renderv1.Step{{Path: "raw2", Postrender: "../../x"}}, fail: "does not exist"},
		"broken":         {steps: []*renderv1.Step{{Path: "chart", Postrender: "bad"}}, fail: "nowhere.yaml"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result := rendertest.Start(t).Pass(files, &renderv1.Begin{Name: "web", Namespace: "shop", Entry: "app", Steps: test.steps})
			if failed := result.GetFailure(); test.fail != "" || failed != nil {
				if place := failed.GetFile() + ": " + failed.GetMessage(); test.fail == "" || !strings.Contains(place, test.fail) {
					t.Errorf("got %v, want ...%s...", place, test.fail)
				}
				return
			}
			var got, volatile []string
			for _, o := range result.GetObjects() {
				object := rendertest.Decode(t, o)
				got = append(got, object.Metadata.Name+"="+object.Data["from"])
				volatile = append(volatile, o.GetVolatile()...)
			}
			slices.Sort(volatile)
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.volatile, volatile); diff != "" {
				t.Errorf("generated (-want +got):\n%s", diff)
			}
		})
	}
}
