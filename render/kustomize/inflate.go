package kustomize

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/overlay"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Chart is a chart that a kustomization inflates, in the form for the chart's
// renderer.
type Chart struct {
	Dir                string // folder of Chart.yaml, in the tree
	Release, Namespace string
	Values             string // YAML
	IncludeCRDs        bool
	SkipHooks          bool
	SkipTests          bool
	KubernetesVersion  string
	APIVersions        []string
}

// helmChart is an entry of helmCharts.
type helmChart struct {
	Name                  string         `yaml:"name"`
	Repo                  string         `yaml:"repo"`
	Version               string         `yaml:"version"`
	ReleaseName           string         `yaml:"releaseName"`
	NameTemplate          string         `yaml:"nameTemplate"`
	Namespace             string         `yaml:"namespace"`
	ValuesFile            string         `yaml:"valuesFile"`
	AdditionalValuesFiles []string       `yaml:"additionalValuesFiles"`
	ValuesInline          map[string]any `yaml:"valuesInline"`
	ValuesMerge           string         `yaml:"valuesMerge"`
	IncludeCRDs           bool           `yaml:"includeCRDs"`
	SkipHooks             bool           `yaml:"skipHooks"`
	SkipTests             bool           `yaml:"skipTests"`
	KubeVersion           string         `yaml:"kubeVersion"`
	APIVersions           []string       `yaml:"apiVersions"`
}

// legacyChart is an entry of helmChartInflationGenerator.
type legacyChart struct {
	ChartName        string         `yaml:"chartName"`
	ChartRepoURL     string         `yaml:"chartRepoUrl"`
	ChartVersion     string         `yaml:"chartVersion"`
	ChartHome        string         `yaml:"chartHome"`
	ReleaseName      string         `yaml:"releaseName"`
	ReleaseNamespace string         `yaml:"releaseNamespace"`
	Values           string         `yaml:"values"`
	ValuesLocal      map[string]any `yaml:"valuesLocal"`
	ValuesMerge      string         `yaml:"valuesMerge"`
	IncludeCRDs      bool           `yaml:"includeCRDs"`
}

// inflate renders the charts of a kustomization into files, adds these to its
// resources, and removes the fields that require the helm program. It reports whether
// there was a chart.
func (c *checker) inflate(dir, file string, doc *yaml.Node) (bool, error) {
	home := ""
	var names []string
	keep := doc.Content[:0:0]
	for i := 0; i+1 < len(doc.Content); i += 2 {
		name, value := doc.Content[i], doc.Content[i+1]
		if name.Value == "helmGlobals" {
			var globals struct {
				ChartHome string `yaml:"chartHome"`
			}
			_ = value.Decode(&globals)
			home = globals.ChartHome
		}
		if !inflating[name.Value] && name.Value != "helmGlobals" {
			keep = append(keep, name, value)
		}
	}
	found := false
	for i := 0; i+1 < len(doc.Content); i += 2 {
		if !inflating[doc.Content[i].Value] {
			continue
		}
		found = true
		for _, entry := range doc.Content[i+1].Content {
			at := manifest.Error{File: file, Line: entry.Line}
			name, err := c.one(dir, home, at, doc.Content[i].Value, entry)
			if err != nil {
				return false, err
			}
			names = append(names, name)
		}
	}
	if !found {
		return false, nil
	}
	doc.Content = keep
	addResources(doc, names)
	return true, nil
}

// addResources adds files to the resources of a kustomization.
func addResources(doc *yaml.Node, names []string) {
	var list *yaml.Node
	for i := 0; i+1 < len(doc.Content); i += 2 {
		if doc.Content[i].Value == "resources" && doc.Content[i+1].Kind == yaml.SequenceNode {
			list = doc.Content[i+1]
		}
	}
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode}
		doc.Content = append(doc.Content, yaml.NewStringRNode("resources").YNode(), list)
	}
	for _, name := range names {
		list.Content = append(list.Content, yaml.NewStringRNode(name).YNode())
	}
}

// one renders one chart and returns the name of the file with its objects.
func (c *checker) one(dir, home string, at manifest.Error, field string, entry *yaml.Node) (string, error) {
	var h helmChart
	err := entry.Decode(&h)
	if field != "helmCharts" {
		var old legacyChart
		err = entry.Decode(&old)
		h = helmChart{Name: old.ChartName, Repo: old.ChartRepoURL, Version: old.ChartVersion, ReleaseName: old.ReleaseName, Namespace: old.ReleaseNamespace,
			ValuesFile: old.Values, ValuesInline: old.ValuesLocal, ValuesMerge: old.ValuesMerge, IncludeCRDs: old.IncludeCRDs}
		if old.ChartHome != "" {
			home = old.ChartHome
		}
	}
	if err != nil || h.Name == "" {
		at.Message = fmt.Sprintf("%s has an entry that is not a chart with a name", field)
		if err != nil {
			at.Message += ": " + err.Error()
		}
		return "", &at
	}
	chart := Chart{Release: h.ReleaseName, Namespace: h.Namespace, IncludeCRDs: h.IncludeCRDs, SkipHooks: h.SkipHooks, SkipTests: h.SkipTests,
		KubernetesVersion: h.KubeVersion, APIVersions: h.APIVersions}
	if chart.Release == "" {
		chart.Release = h.Name // Kustomize would generate another name at each build
	}
	ok := false
	if chart.Dir, ok = c.chartDir(dir, home, h); !ok {
		at.Message = fmt.Sprintf("the chart %q %s of %q is not among the files, and the hub has no copy of it", h.Name, h.Version, h.Repo)
		return "", &at
	}
	if chart.Values, err = c.values(dir, chart.Dir, h); err != nil {
		at.Message = err.Error()
		return "", &at
	}
	objects, err := c.request.Inflate(chart)
	if err != nil {
		return "", err
	}
	c.generates = c.generates || generated(objects)
	var text bytes.Buffer
	for i := range objects {
		raw, err := objects[i].JSON()
		if err != nil {
			return "", err
		}
		text.WriteString("---\n")
		text.Write(raw)
		text.WriteByte('\n')
	}
	name := fmt.Sprintf(".inflated-%d.yaml", len(c.added))
	c.added[path.Join(dir, name)] = text.Bytes()
	return name, nil
}

// chartDir finds a chart in Kustomize's chart folder, otherwise among the copies.
func (c *checker) chartDir(dir, home string, h helmChart) (string, bool) {
	if home == "" {
		home = "charts"
	}
	places := []string{path.Join(dir, home, h.Name)}
	if h.Repo != "" && h.Version != "" {
		places = []string{path.Join(dir, home, h.Name+"-"+h.Version, h.Name), places[0]}
	}
	for _, p := range places {
		if !escapes(p) && c.tree.IsFile(path.Join(p, "Chart.yaml")) {
			return p, true
		}
	}
	return c.copies.chart(dir, h.Repo, h.Name, h.Version)
}

// values merges as Kustomize does: the file, or the chart's own values, and the
// inline values, then the additional files.
func (c *checker) values(dir, chart string, h helmChart) (string, error) {
	values := map[string]any{}
	if h.ValuesFile != "" && h.ValuesMerge != "replace" {
		if err := c.readValues(dir, h.ValuesFile, values); err != nil {
			return "", err
		}
	}
	switch h.ValuesMerge {
	case "", "override", "replace":
		overlay.Merge(values, h.ValuesInline)
	case "merge":
		if file := path.Join(chart, "values.yaml"); h.ValuesFile == "" && c.tree.IsFile(file) {
			if err := c.readValues(".", file, values); err != nil {
				return "", err
			}
		}
		inline := map[string]any{}
		overlay.Merge(inline, h.ValuesInline)
		overlay.Merge(inline, values)
		values = inline
	default:
		return "", fmt.Errorf("valuesMerge is %q; use override, merge or replace", h.ValuesMerge)
	}
	for _, file := range h.AdditionalValuesFiles {
		if err := c.readValues(dir, file, values); err != nil {
			return "", err
		}
	}
	if len(values) == 0 {
		return "", nil
	}
	text, err := yaml.Marshal(values)
	return string(text), err
}

func (c *checker) readValues(dir, file string, into map[string]any) error {
	local := path.Join(dir, file)
	if strings.Contains(file, "://") || escapes(local) || !c.tree.IsFile(local) {
		return fmt.Errorf("the values file %q is not among the files", file)
	}
	text, err := c.tree.Read(local)
	if err != nil {
		return err
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		return fmt.Errorf("the values file %q: %w", file, err)
	}
	overlay.Merge(into, values)
	return nil
}
