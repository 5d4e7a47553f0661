package render

import (
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	renderv1 "github.com/axle-cd/axle/api/render/v1"
)

// Step is one renderer.
type Step struct {
	// Type is AUTO, RAW, HELM, KUSTOMIZE, JSONNET, CUE, EXEC or WASM; empty is
	// AUTO.
	Type string
	// Path is relative to the pass's entry.
	Path string
	// Helm applies when the step renders a chart.
	Helm Helm
	// KustomizeEnableHelm and KustomizeEnvsubst apply to a kustomization.
	KustomizeEnableHelm, KustomizeEnvsubst bool
	// Postrender is a folder with a kustomization that changes the step's output,
	// relative to the pass's entry; empty means none.
	Postrender string
	// Jsonnet and Cue apply to steps of those types.
	Jsonnet Jsonnet
	Cue     Cue
	// Tool is the agent's tool or module that an EXEC or WASM step runs, Module the
	// service's own file instead.
	Tool, Module string
	// Parameters are passed to the tool or module besides the configuration.
	Parameters map[string]string
}

// Helm is how a chart is rendered.
type Helm struct {
	// Release is the release's name; empty means the service's name.
	Release string
	// Values is YAML and overrides ValuesFiles, which override the chart's values.
	Values      string
	ValuesFiles []string
	// OwnValuesFirst looks for ValuesFiles in the service's folder before the chart,
	// which comes from elsewhere.
	OwnValuesFirst bool
	// Upgrade makes templates see an upgrade instead of an install.
	Upgrade bool
	// LuaScript, LuaFile and LuaFolder produce values that override all others.
	LuaScript, LuaFile, LuaFolder string

	IgnoreHooks bool
	IgnoreCRDs  bool
}

// Jsonnet is how Jsonnet is evaluated.
type Jsonnet struct {
	File          string
	TLAs, ExtVars []Variable
	Libs          []string
}

// Variable is a value for Jsonnet, a string unless it is code.
type Variable struct {
	Name, Value string
	Code        bool
}

// Cue is how a CUE package is evaluated.
type Cue struct {
	Package, Expression string
	Tags                map[string]string
}

// message is the step for the child; l says where its folders are.
func (s Step) message(l layout) *renderv1.Step {
	out := &renderv1.Step{
		Type: s.Type, Path: s.Path, RealPath: l.real(s.Path),
		Helm: &renderv1.Helm{
			Release: s.Helm.Release, Values: s.Helm.Values, ValuesFiles: s.Helm.ValuesFiles,
			IgnoreHooks: s.Helm.IgnoreHooks, IgnoreCrds: s.Helm.IgnoreCRDs, OwnValuesFirst: s.Helm.OwnValuesFirst,
			Upgrade:   s.Helm.Upgrade,
			LuaScript: s.Helm.LuaScript, LuaFile: s.Helm.LuaFile, LuaFolder: s.Helm.LuaFolder,
		},
		KustomizeEnableHelm: s.KustomizeEnableHelm, KustomizeEnvsubst: s.KustomizeEnvsubst,
		Postrender: s.Postrender,
		Jsonnet: &renderv1.Jsonnet{
			File: s.Jsonnet.File, Tlas: variableMessages(s.Jsonnet.TLAs), ExtVars: variableMessages(s.Jsonnet.ExtVars), Libs: s.Jsonnet.Libs,
		},
		Cue: &renderv1.Cue{Package: s.Cue.Package, Expression: s.Cue.Expression, Tags: s.Cue.Tags},
	}
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

func variableMessages(all []Variable) []*renderv1.JsonnetVariable {
	var out []*renderv1.JsonnetVariable
	for _, v := range all {
		out = append(out, &renderv1.JsonnetVariable{Name: v.Name, Value: v.Value, Code: v.Code})
	}
	return out
}

// stepOf converts one entry of a service's renderers.
func stepOf(r *agentv1.Renderer) Step {
	step := Step{
		Type: r.GetType(), Path: r.GetPath(), Helm: helmOf(r.GetHelm()), Postrender: r.GetKustomizePostrender(),
		Cue: Cue{Package: r.GetCue().GetPackage(), Expression: r.GetCue().GetExpression(), Tags: r.GetCue().GetTags()},
	}
	if step.Postrender == "" {
		step.Postrender = r.GetHelm().GetKustomizePostrender()
	}
	if j := r.GetJsonnet(); j != nil {
		step.Jsonnet = Jsonnet{File: j.GetFile(), TLAs: variablesOf(j.GetTlas()), ExtVars: variablesOf(j.GetExtVars()), Libs: j.GetLibs()}
	}
	switch step.Type {
	case "EXEC":
		step.Tool, step.Parameters = r.GetExec().GetTool(), r.GetExec().GetParameters()
	case "WASM":
		step.Tool, step.Module, step.Parameters = r.GetWasm().GetTool(), r.GetWasm().GetModule(), r.GetWasm().GetParameters()
	}
	return step
}

func variablesOf(all []*agentv1.JsonnetVariable) []Variable {
	var out []Variable
	for _, v := range all {
		out = append(out, Variable{Name: v.GetName(), Value: v.GetValue(), Code: v.GetCode()})
	}
	return out
}

func helmOf(h *agentv1.Helm) Helm {
	return Helm{
		Release: h.GetRelease(), Values: h.GetValues(), ValuesFiles: h.GetValuesFiles(),
		IgnoreHooks: h.GetIgnoreHooks(), IgnoreCRDs: h.GetIgnoreCrds(), Upgrade: h.GetUpgrade(),
		LuaScript: h.GetLuaScript(), LuaFile: h.GetLuaFile(), LuaFolder: h.GetLuaFolder(),
	}
}
