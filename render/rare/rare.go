// Package rare links the renderers that few services use, and the health rules in CEL,
// to the render child. Each of them slows down the start of a program whether it is
// used or not. So they are in a program of their own (cmd/axle-render-rare), which
// the agent starts for passes that need one. The package renders nothing itself.
package rare

import (
	"context"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/render"
	"github.com/axle-cd/axle/render/cue"
	"github.com/axle-cd/axle/render/expression"
	"github.com/axle-cd/axle/render/jsonnet"
	"github.com/axle-cd/axle/render/wasm"
)

// All returns everything that the usual program does not have.
func All() render.Rare {
	return render.Rare{
		Renderers: map[string]render.Renderer{render.Jsonnet: evaluateJsonnet, render.Cue: evaluateCue, render.Wasm: runModule},
		Judge:     expression.Batch,
	}
}

func evaluateJsonnet(in render.Input) ([]manifest.Object, []string, error) {
	j := in.Step.GetJsonnet()
	return jsonnet.Render(jsonnet.Request{
		Tree: in.Tree, Dir: in.Dir, Roots: in.Roots, File: j.GetFile(), TLAs: variables(j.GetTlas()), ExtVars: variables(j.GetExtVars()),
		Libs: j.GetLibs(), Bindings: in.Bindings, Namespace: in.Namespace,
	})
}

func variables(all []*renderv1.JsonnetVariable) []jsonnet.Variable {
	var out []jsonnet.Variable
	for _, v := range all {
		out = append(out, jsonnet.Variable{Name: v.GetName(), Value: v.GetValue(), Code: v.GetCode()})
	}
	return out
}

func evaluateCue(in render.Input) ([]manifest.Object, []string, error) {
	c := in.Step.GetCue()
	objects, err := cue.Render(cue.Request{
		Tree: in.Tree, Dir: in.Dir, Package: c.GetPackage(), Expression: c.GetExpression(), Tags: c.GetTags(),
		Configuration: in.Configuration, Namespace: in.Namespace,
	})
	return objects, nil, err
}

func runModule(in render.Input) ([]manifest.Object, []string, error) {
	w := in.Step.GetWasm()
	return wasm.Render(context.Background(), wasm.Request{
		Tree: in.Tree, Dir: in.Dir, Module: w.GetModule(), Code: w.GetCode(), Tool: w.GetTool(),
		Told: in.Told, Now: in.Now, Namespace: in.Namespace,
	})
}
