package references

import (
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/aliases"
)

// IsKustomization reports whether a file of that name is a kustomization.
func IsKustomization(name string) bool {
	return name == "kustomization.yaml" || name == "kustomization.yml" || name == "Kustomization"
}

// kustomization has the fields of a kustomization that name files or folders.
type kustomization struct {
	Resources, Bases, Components, CRDs, Configurations []string
	Generators, Transformers, Validators               []string
	PatchesStrategicMerge                              []string
	Patches, PatchesJson6902, Replacements             []struct{ Path string }
	ConfigMapGenerator, SecretGenerator                []struct {
		Files, Envs []string
		Env         string
	}
	HelmCharts []struct {
		ValuesFile            string
		AdditionalValuesFiles []string
	}
	HelmChartInflationGenerator []struct{ Values string }
	HelmGlobals                 struct{ ChartHome string }
	OpenAPI                     struct{ Path string }
}

// referring are the fields whose entries are loaded like resources.
var referring = map[string]bool{"resources": true, "bases": true, "components": true, "generators": true, "transformers": true, "validators": true}

// Kustomization returns the paths inside the repository that a kustomization
// refers to, relative to its own folder, and its references to other servers.
func Kustomization(raw []byte) (local []string, external []External) {
	var k kustomization
	if len(raw) > maxText || aliases.Check(raw) != nil || yaml.Unmarshal(raw, &k) != nil {
		return nil, nil
	}
	return k.local(), externals(raw)
}

func (k kustomization) local() []string {
	var all []string
	for _, list := range [][]string{k.Resources, k.Bases, k.Components, k.CRDs, k.Configurations, k.Generators, k.Transformers, k.Validators, k.PatchesStrategicMerge} {
		all = append(all, list...)
	}
	for _, list := range [][]struct{ Path string }{k.Patches, k.PatchesJson6902, k.Replacements} {
		for _, p := range list {
			all = append(all, p.Path)
		}
	}
	for _, g := range append(k.ConfigMapGenerator, k.SecretGenerator...) {
		for _, f := range g.Files {
			if _, after, ok := strings.Cut(f, "="); ok {
				f = after
			}
			all = append(all, f)
		}
		all = append(append(all, g.Envs...), g.Env)
	}
	for _, h := range k.HelmCharts {
		all = append(append(all, h.AdditionalValuesFiles...), h.ValuesFile)
	}
	for _, h := range k.HelmChartInflationGenerator {
		all = append(all, h.Values)
	}
	all = append(all, k.HelmGlobals.ChartHome, k.OpenAPI.Path)
	out := all[:0]
	for _, p := range all {
		// Skip inline documents and what is on other servers.
		if p != "" && !strings.ContainsAny(p, "\n:{?") && p[0] != '/' && !Remote(p) {
			out = append(out, p)
		}
	}
	return out
}

// ChartHome returns where Kustomize keeps a chart of a repository, relative to
// the kustomization's folder.
func ChartHome(home, name, version string) string {
	if home == "" {
		home = "charts"
	}
	if version != "" {
		return path.Join(home, name+"-"+version, name)
	}
	return path.Join(home, name)
}
