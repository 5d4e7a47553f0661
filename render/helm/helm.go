package helm

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
)

// Request is one chart to render.
type Request struct {
	Tree *tree.Tree
	// Dir holds Chart.yaml.
	Dir string
	// Roots are folders, besides Dir, where values files are looked up.
	Roots []string
	// RootsFirst looks there before Dir: the chart comes from elsewhere, and the
	// values files are the service's own.
	RootsFirst bool
	// Release and Namespace are what templates see.
	Release, Namespace string
	// Values is YAML and overrides ValuesFiles.
	Values      string
	ValuesFiles []string
	// SecretValues is YAML that overrides Values; no error quotes it.
	SecretValues string
	// Lua produces values that override all others, and names values files that come
	// after ValuesFiles.
	Lua         Lua
	IgnoreHooks bool
	// Upgrade makes templates see an upgrade instead of an install.
	Upgrade bool
	// Tests keeps hooks that are tests.
	Tests      bool
	IgnoreCRDs bool
	// KubernetesVersion and APIVersions are the cluster's; without them the chart
	// sees those of this program's libraries.
	KubernetesVersion string
	APIVersions       []string
	// AndKnown adds the built-in kinds of Kubernetes to APIVersions.
	AndKnown bool
	// Now is the time that templates see.
	Now time.Time
	// Liquid renders *.liquid values files; nil uses them unrendered.
	Liquid *liquid.Engine
	// Lookup answers the function lookup; an empty map means that nothing was found.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, error)
}

// Result is a rendered chart.
type Result struct {
	Objects  []manifest.Object
	Warnings []string
	// Asked are the API versions that templates asked for; "*" if a template may have
	// read the whole list.
	Asked []string
}

// release is one chart with its values, ready to be rendered.
type release struct {
	Request
	chart  *chart.Chart
	values map[string]any
	caps   *capabilities
	// warnings are those about the chart itself.
	warnings []string
	// decoded are the texts that were decoded, by their names: a second render mostly
	// gives the same ones, and decoding takes longer than rendering.
	decoded map[string]decodedText
	traces  *traces
	// rendered is what the templates wrote, by their names. In a second render before is
	// what they wrote the first time, for those that do not run again.
	rendered, before map[string]string
}

// decodedText is a rendered text with its objects.
type decodedText struct {
	text     string
	objects  []manifest.Object
	warnings []string
}

// Render renders the chart.
func Render(ctx context.Context, r Request) (*Result, error) {
	texts, err := r.valuesTexts()
	if err != nil {
		return nil, err
	}
	// Dependencies are processed in place, so each render loads its own chart.
	first, err := r.load(texts)
	if err != nil {
		return nil, err
	}
	mark(first.chart)
	result, err := first.render(ctx)
	if err != nil {
		// The marks move what stands in a line with them, which an error may name.
		if first, err = r.load(texts); err != nil {
			return nil, err
		}
		if result, err = first.render(ctx); err != nil {
			return nil, err
		}
	}
	if generates := r.generatesIn(texts); generates || first.traces.generates {
		if texts, err = r.valuesTexts(); err != nil {
			return nil, err
		}
		again, err := r.again(ctx, first, texts, !generates && first.traces.again())
		if err != nil {
			return nil, err
		}
		if err := manifest.MarkVolatile(result.Objects, again.Objects); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// again renders a second time, if some is set without the templates whose output cannot
// differ. Where another one includes such a template by the name of its file, all run.
func (r Request) again(ctx context.Context, first *release, texts []valuesText, some bool) (*Result, error) {
	second, err := r.load(texts)
	if err != nil {
		return nil, err
	}
	second.decoded = first.decoded
	if !some {
		return second.render(ctx)
	}
	first.traces.leaveOut(second.chart)
	second.before = first.rendered
	if result, err := second.render(ctx); err == nil {
		return result, nil
	}
	return r.again(ctx, first, texts, false)
}

// load reads the chart and its values and decides which subcharts are enabled.
func (r Request) load(texts []valuesText) (*release, error) {
	c, err := loadChart(r.Tree, path.Clean(r.Dir))
	if err != nil {
		return nil, err
	}
	values, err := mergeValues(texts)
	if err != nil {
		return nil, err
	}
	rel := &release{Request: r, chart: c, values: values, decoded: map[string]decodedText{}, traces: newTraces()}
	if rel.caps, err = newCapabilities(r.KubernetesVersion, r.APIVersions, r.AndKnown); err != nil {
		return nil, rel.fail("%v", err)
	}
	if c.Metadata.Type == "library" {
		return nil, rel.fail("the chart is a library chart; it has nothing to render")
	}
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, rel.caps.KubeVersion.String()) {
		return nil, rel.fail("the chart requires Kubernetes %s, the cluster has %s", want, rel.caps.KubeVersion.String())
	}
	rel.warnings = unmatched(path.Join(r.Dir, "Chart.yaml"), c)
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, rel.fail("cannot process the chart's dependencies: %v", err)
	}
	rel.warnings = append(rel.warnings, loadable(r.Dir, c)...)
	return rel, nil
}

func (rel *release) fail(format string, args ...any) error {
	return &manifest.Error{File: path.Join(rel.Dir, "Chart.yaml"), Message: fmt.Sprintf(format, args...)}
}

// render runs the templates and decodes their output.
func (rel *release) render(ctx context.Context) (*Result, error) {
	options := common.ReleaseOptions{Name: rel.Release, Namespace: rel.Namespace, Revision: 1, IsInstall: !rel.Upgrade, IsUpgrade: rel.Upgrade}
	bindings, err := util.ToRenderValuesWithSchemaValidation(rel.chart, rel.values, options, &common.Capabilities{}, false)
	if err != nil {
		return nil, &manifest.Error{File: path.Join(rel.Dir, "values.yaml"), Message: strings.TrimSpace(err.Error())}
	}
	bindings["Capabilities"] = rel.caps
	stop := rel.caps.record()
	rel.rendered, err = engine.Engine{CustomTemplateFuncs: rel.functions()}.RenderWithContext(ctx, rel.chart, bindings)
	asked := stop()
	if err != nil {
		return nil, rel.explain(err)
	}
	for name, text := range rel.before {
		if _, ran := rel.rendered[name]; !ran {
			rel.rendered[name] = text
		}
	}
	if rel.readsAllVersions() {
		asked = append(asked, "*")
		slices.Sort(asked)
	}
	result := &Result{Asked: asked, Warnings: rel.warnings}
	if err := rel.collect(result); err != nil {
		return nil, err
	}
	return result, nil
}

// functions replace template functions that would reach outside or give different
// results each time.
func (rel *release) functions() template.FuncMap {
	functions := template.FuncMap{
		"lookup": func(apiVersion, kind, namespace, name string) (map[string]any, error) {
			if rel.Lookup == nil {
				return map[string]any{}, nil
			}
			return rel.Lookup(apiVersion, kind, namespace, name)
		},
		"now": func() time.Time { return rel.Now },
		"ago": rel.ago,
	}
	maps.Copy(functions, rel.traces.functions())
	return functions
}

// collect decodes CRDs first, then the templates in the order of their names.
func (rel *release) collect(result *Result) error {
	seen := map[manifest.Key]int{}
	if !rel.IgnoreCRDs {
		for _, crd := range rel.chart.CRDObjects() {
			if err := rel.take(result, seen, crd.Filename, crd.File.Data, true); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rel.rendered)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		if err := rel.take(result, seen, name, []byte(rel.rendered[name]), false); err != nil {
			return err
		}
	}
	return nil
}

// take decodes one rendered text, or a file with CRDs.
func (rel *release) take(result *Result, seen map[manifest.Key]int, name string, text []byte, crd bool) error {
	file := rel.file(name)
	objects, warnings, err := rel.decode(name, file, text, crd)
	if err != nil {
		return err
	}
	result.Warnings = append(result.Warnings, warnings...)
	for _, object := range objects {
		if object.CRD = crd; !crd {
			wanted, warning := rel.wants(&object)
			if warning != "" {
				result.Warnings = append(result.Warnings, manifest.LeftOut("%s: %s", file, warning))
			}
			if !wanted {
				continue
			}
		}
		if err := rel.add(result, seen, object); err != nil {
			return err
		}
	}
	return nil
}

// decode decodes a text, or returns what it was decoded to before.
func (rel *release) decode(name, file string, text []byte, crd bool) ([]manifest.Object, []string, error) {
	if before, ok := rel.decoded[name]; ok && before.text == string(text) {
		return before.objects, before.warnings, nil
	}
	read := func() ([]manifest.Object, []string, error) { return decode(file, string(text)) }
	if crd {
		read = func() ([]manifest.Object, []string, error) { return manifest.Decode(file, text) }
	}
	objects, warnings, err := read()
	if err == nil {
		rel.decoded[name] = decodedText{string(text), objects, warnings}
	}
	return objects, warnings, err
}

// file converts a template's name, which starts with the chart's, into a path in the
// service's files.
func (rel *release) file(name string) string {
	_, rest, _ := strings.Cut(name, "/")
	return path.Join(rel.Dir, rest)
}
