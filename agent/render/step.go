package render

import (
	"cmp"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/api/spec/convert"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
)

// Step is one renderer.
type Step struct {
	// Type is AUTO, RAW, HELM, KUSTOMIZE, JSONNET, CUE, EXEC or WASM; empty is
	// AUTO.
	Type string
	// Path is relative to the pass's entry.
	Path string
	// Helm applies when the step renders a chart. OwnValuesFirst looks for its
	// ValuesFiles in the service's folder before the chart, which comes from elsewhere.
	Helm           specv1.Helm
	OwnValuesFirst bool
	// SecretValues is a JSON object that overrides Helm.Values, and no error quotes.
	SecretValues string
	// KustomizeEnableHelm and KustomizeEnvsubst apply to a kustomization.
	KustomizeEnableHelm, KustomizeEnvsubst bool
	// Postrender is a folder with a kustomization that changes the step's output,
	// relative to the pass's entry; empty means none.
	Postrender string
	// Jsonnet and Cue apply to steps of those types.
	Jsonnet specv1.Jsonnet
	Cue     specv1.Cue
	// Tool is the agent's tool or module that an EXEC or WASM step runs, Module the
	// service's own file instead.
	Tool, Module string
	// Parameters are passed to the tool or module besides the configuration.
	Parameters map[string]string
}

// message is the step for the child; l says where its folders are.
func (s Step) message(l layout) *renderv1.Step {
	out := &renderv1.Step{
		Type: s.Type, Path: s.Path, RealPath: l.real(s.Path),
		Helm:                &renderv1.Helm{OwnValuesFirst: s.OwnValuesFirst, SecretValues: s.SecretValues},
		KustomizeEnableHelm: s.KustomizeEnableHelm, KustomizeEnvsubst: s.KustomizeEnvsubst,
		Postrender: s.Postrender, Jsonnet: &renderv1.Jsonnet{}, Cue: &renderv1.Cue{},
	}
	convert.Copy(out.Helm, s.Helm)
	convert.Copy(out.Jsonnet, s.Jsonnet)
	convert.Copy(out.Cue, s.Cue)
	if s.Postrender != "" {
		out.PostrenderRealPath = l.real(s.Postrender)
	}
	switch s.Type {
	case "EXEC":
		out.Exec = &renderv1.Exec{Tool: s.Tool, Parameters: s.Parameters}
	case "WASM":
		out.Wasm = &renderv1.Wasm{Module: s.Module, Tool: s.Tool, Parameters: s.Parameters}
	}
	return out
}

// stepOf converts one entry of a service's renderers.
func stepOf(r specv1.Renderer) Step {
	step := Step{Type: r.Type, Path: r.Path, Helm: value(r.Helm), Jsonnet: value(r.Jsonnet), Cue: value(r.Cue)}
	step.Postrender = cmp.Or(r.KustomizePostrender, step.Helm.KustomizePostrender)
	step.Helm.KustomizePostrender = ""
	switch exec, wasm := value(r.Exec), value(r.Wasm); step.Type {
	case "EXEC":
		step.Tool, step.Parameters = exec.Tool, exec.Parameters
	case "WASM":
		step.Tool, step.Module, step.Parameters = wasm.Tool, wasm.Module, wasm.Parameters
	}
	return step
}

// value returns what a pointer points to, or the zero value for nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
