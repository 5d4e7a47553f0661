package upstream

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInKustomization(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"remote beside local": {"resources: [cm.yaml, ../crds, \"https://example.test/remote//x?ref=v1\"]\n", []string{"cm.yaml", "../crds"}},
		"generators":          {"configMapGenerator:\n- files: [a=../x, ../y]\n  envs: [../z]\nsecretGenerator:\n- env: ../e\n", []string{"../x", "../y", "../z", "../e"}},
		"patches":             {"patches:\n- path: ../p\n- patch: |-\n    a: b\npatchesStrategicMerge:\n- ../q\n- |-\n  kind: X\n  spec: ../r\n", []string{"../q", "../p"}},
		"helm":                {"helmCharts:\n- name: x\n  valuesFile: ../v.yaml\n  additionalValuesFiles: [../w.yaml]\nhelmGlobals: {chartHome: ../charts}\n", []string{"../w.yaml", "../v.yaml", "../charts"}},
		"not yaml":            {"{{", nil},
		"wrong types":         {"resources: {a: b}\n", nil},
	} {
		if diff := cmp.Diff(tt.want, inKustomization([]byte(tt.text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
