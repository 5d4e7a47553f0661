package render_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/render"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
)

func TestStepsOfASpec(t *testing.T) {
	helm := &agentv1.Helm{Release: "r", Values: "a: b", ValuesFiles: []string{"v.yaml"}, IgnoreHooks: true, IgnoreCrds: true, LuaScript: "s", LuaFile: "f", LuaFolder: "d"}
	wantHelm := specv1.Helm{Release: "r", Values: "a: b", ValuesFiles: []string{"v.yaml"}, IgnoreHooks: true, IgnoreCRDs: true, LuaScript: "s", LuaFile: "f", LuaFolder: "d"}
	tests := map[string]struct {
		render *agentv1.Render
		want   []render.Step
	}{
		"nothing said": {want: []render.Step{{}}},
		"helm":         {render: &agentv1.Render{Helm: helm}, want: []render.Step{{Helm: wantHelm}}},
		"kustomize": {
			render: &agentv1.Render{Kustomize: &agentv1.Kustomize{Path: "overlays/a", EnableHelm: true, Envsubst: true}},
			want:   []render.Step{{Type: "KUSTOMIZE", Path: "overlays/a", KustomizeEnableHelm: true, KustomizeEnvsubst: true}},
		},
		"renderers come after the folder": {
			render: &agentv1.Render{Renderers: []*agentv1.Renderer{{Path: "chart", Type: "HELM", Helm: helm}, {Path: "more", Type: "RAW"}}},
			want:   []render.Step{{}, {Type: "HELM", Path: "chart", Helm: wantHelm}, {Type: "RAW", Path: "more"}},
		},
		"all of jsonnet, cue, tools and modules": {
			render: &agentv1.Render{
				Helm: &agentv1.Helm{KustomizePostrender: "post"},
				Renderers: []*agentv1.Renderer{
					{Path: "a", Type: "JSONNET", KustomizePostrender: "over", Jsonnet: &agentv1.Jsonnet{
						File: "f", Libs: []string{"l"}, Tlas: []*agentv1.JsonnetVariable{{Name: "t", Value: "1", Code: true}}, ExtVars: []*agentv1.JsonnetVariable{{Name: "e", Value: "x"}},
					}},
					{Path: "b", Type: "CUE", Cue: &agentv1.Cue{Package: "p", Expression: "x", Tags: map[string]string{"k": "v"}}},
					{Path: "c", Type: "EXEC", Exec: &agentv1.Exec{Tool: "kcl", Parameters: map[string]string{"k": "v"}}},
					{Path: "d", Type: "WASM", Wasm: &agentv1.Wasm{Module: "m.wasm"}},
					{Path: "e", Type: "WASM", Wasm: &agentv1.Wasm{Tool: "web"}},
					{Path: "f", Type: "HELM", Helm: &agentv1.Helm{KustomizePostrender: "post"}},
				},
			},
			want: []render.Step{
				{Postrender: "post"},
				{Type: "JSONNET", Path: "a", Postrender: "over", Jsonnet: specv1.Jsonnet{
					File: "f", Libs: []string{"l"}, TLAs: []specv1.JsonnetVariable{{Name: "t", Value: "1", Code: true}}, ExtVars: []specv1.JsonnetVariable{{Name: "e", Value: "x"}},
				}},
				{Type: "CUE", Path: "b", Cue: specv1.Cue{Package: "p", Expression: "x", Tags: map[string]string{"k": "v"}}},
				{Type: "EXEC", Path: "c", Tool: "kcl", Parameters: map[string]string{"k": "v"}},
				{Type: "WASM", Path: "d", Module: "m.wasm"},
				{Type: "WASM", Path: "e", Tool: "web"},
				{Type: "HELM", Path: "f", Postrender: "post"},
			},
		},
		"a renderer of the folder itself": {
			render: &agentv1.Render{Renderers: []*agentv1.Renderer{{Path: ".", Type: "RAW"}, {Path: "more"}}},
			want:   []render.Step{{Type: "RAW", Path: "."}, {Path: "more"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pass, err := render.FromSpec(&agentv1.ServiceSpec{Render: test.render}, "/folder")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, pass.Steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatTemplatesSeeOfASpec(t *testing.T) {
	spec := &agentv1.ServiceSpec{
		Id: "s1", Name: "shop", Namespace: "front", Project: "p", Entry: "app",
		Render:        &agentv1.Render{Helm: &agentv1.Helm{Release: "rel"}},
		Configuration: map[string]string{"color": "green", "key": "plain"},
		Secrets:       map[string]string{"key": "hidden"},
		Cluster:       &agentv1.ClusterData{Name: "one", Handle: "eu-1", Tags: map[string]string{"tier": "prod"}, Metadata: `{"region":"eu"}`, KubernetesMinor: "1.36"},
		Display:       &agentv1.Display{CreatedAt: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).UnixMicro()},
	}
	pass, err := render.FromSpec(spec, folder(t, map[string]string{"app/a.yaml.liquid": `apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  text: "{{ configuration.color }} {{ configuration.key }} {{ cluster.name }} {{ cluster.handle }} {{ cluster.tags.tier }} {{ cluster.metadata.region }} {{ cluster.version }} {{ service.name }} {{ service.namespace }} {{ service.helm.release }} {{ configuration.missing }}."
`}))
	if err != nil {
		t.Fatal(err)
	}
	result, err := newRunner(t, render.Config{}).Render(patient(t), pass)
	if err != nil {
		t.Fatal(err)
	}
	var object struct{ Data struct{ Text string } }
	if err := json.Unmarshal(result.Objects[0].JSON, &object); err != nil {
		t.Fatal(err)
	}
	if want := "green hidden one eu-1 prod eu 1.36 shop front rel ."; object.Data.Text != want {
		t.Errorf("got %q, want %q", object.Data.Text, want)
	}
	if result.Objects[0].Source != "app/a.yaml.liquid" {
		t.Errorf("the source is %q", result.Objects[0].Source)
	}

	spec.Render.Templated = proto.Bool(false)
	plain, err := render.FromSpec(spec, pass.Folder)
	if err != nil {
		t.Fatal(err)
	}
	result, err = newRunner(t, render.Config{}).Render(patient(t), plain)
	if err != nil || !strings.Contains(string(result.Objects[0].JSON), "{{ configuration.color }}") {
		t.Errorf("templating is off: %v, %v; want the text as it is", result.Objects, err)
	}

	spec.Render.Templated, spec.Secrets[specv1.ChartValues] = nil, `{"color": "red"}`
	if pass, err = render.FromSpec(spec, ""); err != nil || pass.Configuration[specv1.ChartValues] != "" || pass.Steps[0].SecretValues != `{"color": "red"}` {
		t.Errorf("%v, %v: values of the chart are not what templates see", pass, err)
	}

	spec.Cluster.Metadata = "[1]"
	if _, err := render.FromSpec(spec, ""); err == nil || !strings.Contains(err.Error(), "metadata") {
		t.Errorf("got %v, want the metadata refused", err)
	}
}

// The secret values of a chart win over those of the spec, wherever the chart lies.
func TestSecretValuesOfAChart(t *testing.T) {
	files := map[string]string{
		"web/Chart.yaml":          "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"web/values.yaml":         "auth: {user: chart, password: chart}\n",
		"web/templates/auth.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: auth}\ndata: {text: {{ .Values.auth.user }} {{ .Values.auth.password }}}\n",
		"own/team.yaml":           "{}\n",
	}
	for name, spec := range map[string]*agentv1.ServiceSpec{
		"of the service's folder": {Entry: "web", Render: &agentv1.Render{Helm: &agentv1.Helm{Values: "auth: {user: spec, password: spec}"}}},
		"from elsewhere":          {Entry: "own", Render: &agentv1.Render{Helm: &agentv1.Helm{Values: "auth: {user: spec, password: spec}", ChartPath: "../web"}}},
	} {
		t.Run(name, func(t *testing.T) {
			spec.Id, spec.Name, spec.Namespace, spec.Project = "s1", "shop", "front", "p"
			spec.Secrets = map[string]string{specv1.ChartValues: `{"auth":{"password":"canary"}}`}
			pass, err := render.FromSpec(spec, folder(t, files))
			if err != nil {
				t.Fatal(err)
			}
			result, err := newRunner(t, render.Config{}).Render(patient(t), pass)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Objects) != 1 || !strings.Contains(string(result.Objects[0].JSON), `"spec canary"`) {
				t.Errorf("it rendered %v", result.Objects)
			}
			spec.Secrets[specv1.ChartValues] = "canary: ["
			if pass, err = render.FromSpec(spec, pass.Folder); err != nil {
				t.Fatal(err)
			}
			if _, err := newRunner(t, render.Config{}).Render(patient(t), pass); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "helm.valuesFrom") {
				t.Errorf("a secret that is no map: %v", err)
			}
		})
	}
}
