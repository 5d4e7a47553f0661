package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
	"github.com/axle-cd/axle/render/helm"
	"github.com/axle-cd/axle/render/kustomize"
	"github.com/axle-cd/axle/render/raw"
)

// maxWarnings and maxWarningBytes bound the warnings of a result.
const (
	maxWarnings     = 20
	maxWarningBytes = 1 << 10
)

// pass is the state of one render.
type pass struct {
	files    *tree.Tree
	begin    *renderv1.Begin
	parent   *parent
	rare     map[string]Renderer
	warnings []string
	asked    map[string]bool
}

func newPass(files *tree.Tree, begin *renderv1.Begin, parent *parent, rare map[string]Renderer) *pass {
	return &pass{files: files, begin: begin, parent: parent, rare: rare, asked: map[string]bool{}}
}

// render runs the steps in order. If two steps render one object, the later one
// counts.
func (p *pass) render() (*renderv1.Result, error) {
	bindings, err := p.bindings()
	if err != nil {
		return nil, err
	}
	p.leftOut()
	steps := p.begin.GetSteps()
	if len(steps) == 0 {
		steps = []*renderv1.Step{{Type: stepAuto}}
	}
	var objects []manifest.Object
	for _, step := range steps {
		dir, err := p.dir(step)
		if err != nil {
			return nil, err
		}
		found, warnings, err := p.step(step, dir, bindings)
		if err != nil {
			return nil, err
		}
		p.warnings = append(p.warnings, warnings...)
		if found, err = p.postrender(step, found, bindings); err != nil {
			return nil, err
		}
		objects = p.override(objects, found)
	}
	return p.result(objects)
}

// step renders one folder with one renderer.
func (p *pass) step(step *renderv1.Step, dir string, bindings map[string]any) ([]manifest.Object, []string, error) {
	engine := p.liquid(bindings)
	kind := step.GetType()
	if kind == "" || kind == stepAuto {
		kind = p.detect(dir)
	}
	p.collect(kind)
	switch kind {
	case stepRaw:
		return raw.Render(raw.Request{
			Tree: p.files, Dir: dir, Except: p.others(step),
			Namespace: p.begin.GetNamespace(), Liquid: engine,
		})
	case stepKustomize:
		request := kustomize.Request{Tree: p.files, Dir: dir, Liquid: engine, EnableHelm: step.GetKustomizeEnableHelm(), Inflate: p.inflate}
		if step.GetKustomizeEnvsubst() {
			request.Variables = p.begin.GetConfiguration()
		}
		return kustomize.Render(request)
	case stepHelm:
		return p.helm(step, dir, engine)
	case stepExec:
		return p.tool(step, dir, bindings)
	case Jsonnet, Cue, Wasm:
		return p.rarely(kind, step, dir, bindings)
	}
	return nil, nil, &manifest.Error{File: dir, Message: fmt.Sprintf(
		"there is no renderer %q; use AUTO, RAW, HELM, KUSTOMIZE, JSONNET, CUE, EXEC or WASM", kind)}
}

// liquid returns the engine for a step's templates, nil if the step has none.
func (p *pass) liquid(bindings map[string]any) *liquid.Engine {
	if !p.begin.GetTemplated() {
		return nil
	}
	return liquid.New(bindings, p.now())
}

// helm renders a chart and records which API versions it asked for.
func (p *pass) helm(step *renderv1.Step, dir string, engine *liquid.Engine) ([]manifest.Object, []string, error) {
	h := step.GetHelm()
	release := h.GetRelease()
	if release == "" {
		release = p.begin.GetName()
	}
	result, err := helm.Render(context.Background(), helm.Request{
		Tree: p.files, Dir: dir, Roots: []string{p.begin.GetEntry(), "."}, RootsFirst: h.GetOwnValuesFirst(),
		Release: release, Namespace: p.begin.GetNamespace(),
		Values: h.GetValues(), SecretValues: h.GetSecretValues(), ValuesFiles: h.GetValuesFiles(),
		Lua:         helm.Lua{Script: h.GetLuaScript(), File: h.GetLuaFile(), Folder: h.GetLuaFolder()},
		IgnoreHooks: h.GetIgnoreHooks(), Upgrade: h.GetUpgrade(), IgnoreCRDs: h.GetIgnoreCrds(), Tests: p.begin.GetTests(),
		KubernetesVersion: p.begin.GetCapabilities().GetKubernetesVersion(),
		APIVersions:       p.begin.GetCapabilities().GetApiVersions(), AndKnown: p.begin.GetCapabilities().GetAndKnown(),
		Now: p.now(), Liquid: engine, Lookup: p.parent.lookup,
	})
	if err != nil {
		return nil, nil, err
	}
	for _, version := range result.Asked {
		p.asked[version] = true
	}
	return result.Objects, result.Warnings, nil
}

// inflate renders a chart for a kustomization.
func (p *pass) inflate(c kustomize.Chart) ([]manifest.Object, error) {
	version := p.begin.GetCapabilities().GetKubernetesVersion()
	if c.KubernetesVersion != "" {
		version = c.KubernetesVersion
	}
	namespace := c.Namespace
	if namespace == "" {
		namespace = p.begin.GetNamespace()
	}
	result, err := helm.Render(context.Background(), helm.Request{
		Tree: p.files, Dir: c.Dir, Release: c.Release, Namespace: namespace, Values: c.Values,
		IgnoreHooks: c.SkipHooks, Tests: p.begin.GetTests() && !c.SkipTests, IgnoreCRDs: !c.IncludeCRDs, KubernetesVersion: version,
		APIVersions: append(slices.Clone(p.begin.GetCapabilities().GetApiVersions()), c.APIVersions...), AndKnown: p.begin.GetCapabilities().GetAndKnown(),
		Now: p.now(), Lookup: p.parent.lookup,
	})
	if err != nil {
		return nil, err
	}
	for _, version := range result.Asked {
		p.asked[version] = true
	}
	p.warnings = append(p.warnings, result.Warnings...)
	return result.Objects, nil
}

// others are the folders of the other steps: raw leaves them to their own renderer.
func (p *pass) others(step *renderv1.Step) []string {
	var dirs []string
	for _, other := range p.begin.GetSteps() {
		if other != step {
			dirs = append(dirs, path.Join(p.begin.GetEntry(), other.GetPath()))
			if other.GetRealPath() != "" {
				dirs = append(dirs, path.Clean(other.GetRealPath()))
			}
		}
		if other.GetPostrender() != "" {
			dirs = append(dirs, p.place(other.GetPostrender(), other.GetPostrenderRealPath()))
		}
	}
	return dirs
}

// dir is the start folder of a step, inside the files.
func (p *pass) dir(step *renderv1.Step) (string, error) {
	dir := p.place(step.GetPath(), step.GetRealPath())
	if !fs.ValidPath(dir) {
		return "", &manifest.Error{File: dir, Message: "the folder is outside the service's files"}
	}
	if why := p.files.Why(dir); why != "" {
		return "", &manifest.Error{File: dir, Message: why}
	}
	if !p.files.IsDir(dir) {
		return "", &manifest.Error{File: dir, Message: "the folder does not exist or holds no files at this revision; check the service's folder and its renderers' paths"}
	}
	return dir, nil
}

// place is the position of a folder of the service among the files.
func (p *pass) place(folder, real string) string {
	dir := path.Join(p.begin.GetEntry(), folder)
	if real != "" {
		dir = path.Clean(real)
	}
	if dir == "" {
		return "."
	}
	return dir
}

// postrender applies a step's kustomization to its output.
func (p *pass) postrender(step *renderv1.Step, objects []manifest.Object, bindings map[string]any) ([]manifest.Object, error) {
	if step.GetPostrender() == "" {
		return objects, nil
	}
	dir := p.place(step.GetPostrender(), step.GetPostrenderRealPath())
	if !fs.ValidPath(dir) || !p.files.IsDir(dir) {
		return nil, &manifest.Error{File: dir, Message: "the folder of kustomizePostrender does not exist at this revision; it is looked for in the service's folder"}
	}
	changed, warnings, err := kustomize.Change(kustomize.Request{
		Tree: p.files, Dir: dir, Liquid: p.liquid(bindings), EnableHelm: step.GetKustomizeEnableHelm(), Inflate: p.inflate,
	}, objects)
	p.warnings = append(p.warnings, warnings...)
	return changed, err
}

// bindings are the values that templates see.
func (p *pass) bindings() (map[string]any, error) {
	configuration := make(map[string]any, len(p.begin.GetConfiguration()))
	for k, v := range p.begin.GetConfiguration() {
		configuration[k] = v
	}
	bindings := map[string]any{"configuration": configuration}
	for name, text := range map[string]string{
		"cluster": p.begin.GetCluster(), "service": p.begin.GetService(),
		"contexts": p.begin.GetContexts(), "imports": p.begin.GetImports(),
	} {
		value := map[string]any{}
		if text != "" {
			decoder := json.NewDecoder(strings.NewReader(text))
			decoder.UseNumber()
			if err := decoder.Decode(&value); err != nil {
				return nil, fmt.Errorf("the templates' variable %q is not a JSON object: %w", name, err)
			}
		}
		bindings[name] = plainNumbers(value)
	}
	return bindings, nil
}

// plainNumbers converts whole numbers to integers, which print as 1000000 and not
// 1e+06.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plainNumbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole
		}
		if fraction, err := v.Float64(); err == nil {
			return fraction
		}
		return v.String()
	}
	return value
}

func (p *pass) now() time.Time { return time.UnixMicro(p.begin.GetNow()).UTC() }

// override appends found to objects and drops objects that found renders again.
func (p *pass) override(objects, found []manifest.Object) []manifest.Object {
	if len(objects) == 0 {
		return found
	}
	again := map[manifest.Key]bool{}
	for i := range found {
		again[found[i].Key(p.begin.GetNamespace())] = true
	}
	objects = slices.DeleteFunc(objects, func(o manifest.Object) bool {
		return again[o.Key(p.begin.GetNamespace())]
	})
	return append(objects, found...)
}

// result encodes the rendered objects.
func (p *pass) result(objects []manifest.Object) (*renderv1.Result, error) {
	result := &renderv1.Result{Warnings: p.cappedWarnings()}
	for i := range objects {
		object := &renderv1.Object{Source: objects[i].Source, Crd: objects[i].CRD, Volatile: objects[i].Volatile}
		var err error
		if p.begin.GetText() {
			object.Yaml, err = objects[i].YAML()
		} else {
			object.Json, err = objects[i].JSON()
		}
		if err != nil {
			return nil, err
		}
		result.Objects = append(result.Objects, object)
		objects[i].Data = nil
	}
	for version := range p.asked {
		result.ApiVersionsAsked = append(result.ApiVersionsAsked, version)
	}
	slices.Sort(result.ApiVersionsAsked)
	return result, nil
}

func (p *pass) cappedWarnings() []string {
	var out []string
	// What was left out decides what may be deleted, so these warnings are never cut.
	slices.SortStableFunc(p.warnings, func(a, b string) int {
		return len(manifest.PartsLeftOut([]string{b})) - len(manifest.PartsLeftOut([]string{a}))
	})
	for i, w := range p.warnings {
		if i == maxWarnings {
			return append(out, fmt.Sprintf("%d more warnings", len(p.warnings)-maxWarnings))
		}
		if len(w) > maxWarningBytes {
			w = w[:maxWarningBytes]
		}
		out = append(out, w)
	}
	return out
}

// failure keeps the position of an error if it has one.
func failure(err error) *renderv1.Failure {
	var bad *manifest.Error
	if errors.As(err, &bad) {
		return &renderv1.Failure{Message: bad.Message, File: bad.File, Line: int32(bad.Line)}
	}
	var file *tree.Error
	if errors.As(err, &file) {
		return &renderv1.Failure{Message: file.Message, File: file.Path}
	}
	return &renderv1.Failure{Message: err.Error()}
}
