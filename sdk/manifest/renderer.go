package manifest

import (
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
)

// rareRenderer sets the fields for renderers other than Helm.
func rareRenderer(out *hubv1.Renderer, r v1alpha1.Renderer) {
	out.KustomizePostrender = value(r.KustomizePostrender)
	if j := r.Jsonnet; j != nil {
		out.Jsonnet = &hubv1.Jsonnet{File: value(j.File), Tlas: jsonnetVariables(j.TLAs), ExtVars: jsonnetVariables(j.ExtVars), Libs: j.Libs}
	}
	if c := r.Cue; c != nil {
		out.Cue = &hubv1.Cue{Package: value(c.Package), Expression: value(c.Expression), Tags: c.Tags}
	}
	if e := r.Exec; e != nil {
		out.Exec = &hubv1.Exec{Tool: e.Tool, Parameters: e.Parameters}
	}
	if w := r.Wasm; w != nil {
		out.Wasm = &hubv1.Wasm{Module: value(w.Module), Tool: value(w.Tool), Parameters: w.Parameters}
	}
}

func jsonnetVariables(all []v1alpha1.JsonnetVariable) []*hubv1.JsonnetVariable {
	out := make([]*hubv1.JsonnetVariable, 0, len(all))
	for _, v := range all {
		out = append(out, &hubv1.JsonnetVariable{Name: v.Name, Value: v.Value, Code: value(v.Code)})
	}
	return out
}
