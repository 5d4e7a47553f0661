package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
	"github.com/axle-cd/axle/render/kustomize"
	"github.com/axle-cd/axle/render/tool"
)

// The kinds of a step.
const (
	stepAuto      = "AUTO"
	stepRaw       = "RAW"
	stepHelm      = "HELM"
	stepKustomize = "KUSTOMIZE"
	stepExec      = "EXEC"
	// The rare kinds, which only the program with all renderers renders.
	Jsonnet = "JSONNET"
	Cue     = "CUE"
	Wasm    = "WASM"
)

// Renderer renders one folder for a rare kind of step.
type Renderer func(Input) (objects []manifest.Object, warnings []string, err error)

// Rare holds what only one of the programs has.
type Rare struct {
	// Renderers are the renderers by the kind of step.
	Renderers map[string]Renderer
	// Judge judges objects with a health rule in CEL.
	Judge func(*renderv1.Judge) *renderv1.Verdicts
}

// Input is the input of a renderer.
type Input struct {
	Tree *tree.Tree
	// Dir is the step's folder. Roots are the service's folder and the root of the
	// files.
	Dir   string
	Roots []string
	Step  *renderv1.Step
	// Namespace is the namespace of objects that name none.
	Namespace     string
	Configuration map[string]string
	// Bindings are what templates see: configuration, cluster and service.
	Bindings map[string]any
	// Told is the standard input of a module.
	Told []byte
	Now  time.Time
}

// errRare says that the pass needs the program with all renderers.
var errRare = errors.New("the pass needs a renderer that this program does not have")

// rarely renders a step with a renderer that only one of the programs has.
func (p *pass) rarely(kind string, step *renderv1.Step, dir string, bindings map[string]any) ([]manifest.Object, []string, error) {
	if len(p.rare) == 0 {
		return nil, nil, errRare
	}
	told, err := p.told(step, dir, step.GetWasm().GetParameters(), bindings)
	if err != nil {
		return nil, nil, err
	}
	return p.rare[kind](Input{
		Tree: p.files, Dir: dir, Roots: []string{path.Clean(p.begin.GetEntry()), "."}, Step: step,
		Namespace: p.begin.GetNamespace(), Configuration: p.begin.GetConfiguration(), Bindings: bindings,
		Told: told, Now: p.now(),
	})
}

// tool has the parent run the step's tool.
func (p *pass) tool(step *renderv1.Step, dir string, bindings map[string]any) ([]manifest.Object, []string, error) {
	// A tool may read whatever is in its folder.
	for _, name := range p.files.Below(dir) {
		if why := p.files.Why(name); why != "" {
			return nil, nil, &manifest.Error{File: name, Message: why}
		}
	}
	told, err := p.told(step, dir, step.GetExec().GetParameters(), bindings)
	if err != nil {
		return nil, nil, err
	}
	index := -1
	for i, s := range p.begin.GetSteps() {
		if s == step {
			index = i
		}
	}
	return tool.Render(tool.Request{
		Tree: p.files, Dir: dir, Name: step.GetExec().GetTool(), Namespace: p.begin.GetNamespace(),
		Run: func() (tool.Output, error) { return p.parent.tool(index, told) },
	})
}

// told is the standard input of tools and modules.
func (p *pass) told(_ *renderv1.Step, dir string, parameters map[string]string, bindings map[string]any) ([]byte, error) {
	if parameters == nil {
		parameters = map[string]string{}
	}
	out, err := json.Marshal(map[string]any{
		"version": 1, "name": p.begin.GetName(), "namespace": p.begin.GetNamespace(), "folder": dir, "parameters": parameters,
		"configuration": bindings["configuration"], "cluster": bindings["cluster"], "service": bindings["service"],
		"kubernetesVersion": p.begin.GetCapabilities().GetKubernetesVersion(), "now": p.now().Format(time.RFC3339),
	})
	if err != nil {
		return nil, fmt.Errorf("encode the input of a tool: %w", err)
	}
	return out, nil
}

// detect finds the kind of a folder: a chart, a kustomization, Jsonnet with a main
// file, a package of a CUE module, otherwise raw.
func (p *pass) detect(dir string) string {
	if p.files.IsFile(path.Join(dir, "Chart.yaml")) {
		return stepHelm
	}
	if kustomize.HasKustomization(p.files, dir, p.begin.GetTemplated()) {
		return stepKustomize
	}
	switch {
	case p.files.IsFile(path.Join(dir, "main.jsonnet")):
		return Jsonnet
	case p.isCue(dir):
		return Cue
	}
	return stepRaw
}

// isCue reports whether a folder has CUE files and is in a module.
func (p *pass) isCue(dir string) bool {
	has := false
	for _, file := range p.files.Below(dir) {
		if has = strings.HasSuffix(file, ".cue") && path.Dir(file) == path.Clean(dir); has {
			break
		}
	}
	for at := path.Clean(dir); has; at = path.Dir(at) {
		if p.files.IsFile(path.Join(at, "cue.mod/module.cue")) {
			return true
		}
		if at == "." || at == "/" {
			return false
		}
	}
	return false
}
