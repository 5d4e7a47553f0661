// Package specrules has the rules that a service's spec keeps by itself, and the
// limits of its lists. hub/fleet calls it when something is declared, and reuses the
// rules of names, sync windows and objects; it reads nothing and knows no rows.
//
// Invariants: an error is Invalid and begins with the field. A spec has at most
// 512 KiB, a list 200 entries, a service 32 sources.
package specrules

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

const (
	// maxSpec limits a spec's JSON, including secrets: it is sent to an agent
	// in one message and stored 20 times.
	maxSpec = 512 << 10
	// maxRelease is Helm's own limit.
	maxRelease = 53
	// maxItems limits each list of a spec.
	maxItems = 200
	// maxSources limits the sources of one service: the agent fetches the
	// tarball of each separately.
	maxSources = 32
)

// Field returns an Invalid error about a field of a spec.
func Field(path, format string, args ...any) error {
	return errcode.New(errcode.Invalid, "%s: %s", path, fmt.Sprintf(format, args...))
}

// CheckName returns nil when text is a DNS label.
func CheckName(path, text string) error {
	if !rule.Label.Valid(text) {
		return Field(path, "%.80q is not a name; use %s", text, rule.Label.Words)
	}
	return nil
}

// checkInside returns nil when a path stays inside the source.
func checkInside(at, p string) error {
	depth := 0
	for _, part := range strings.Split(p, "/") {
		switch part {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			break
		}
	}
	if depth < 0 || strings.HasPrefix(p, "/") || strings.Contains(p, "\x00") {
		return Field(at, "%.200q leaves the source; give a path from its folder", p)
	}
	return nil
}

// Validate returns an Invalid error with the field when the spec can never
// work. What needs other rows (repository, dependencies) is checked when the
// service is stored.
func Validate(name string, s specv1.Spec) error {
	if err := CheckName("name", name); err != nil {
		return err
	}
	if s.Namespace != "" {
		if err := CheckName("namespace", s.Namespace); err != nil {
			return err
		}
	}
	if text, err := json.Marshal(s); err != nil || len(text) > maxSpec {
		return Field("spec", "is larger than %d KiB; move large files into the repository", maxSpec>>10)
	}
	for _, check := range []func(string, specv1.Spec) error{checkSource, checkRendering, checkSettings, checkDependencies, checkWindows} {
		if err := check(name, s); err != nil {
			return err
		}
	}
	return nil
}

func checkSource(_ string, s specv1.Spec) error {
	if err := checkGit("git", "repository", s.Git, s.Repository); err != nil {
		return err
	}
	if err := checkChart(s.Helm); err != nil {
		return err
	}
	if len(s.Sources) > maxSources {
		return Field("sources", "lists more than %d", maxSources)
	}
	for i, source := range s.Sources {
		if err := checkOneSource(fmt.Sprintf("sources[%d]", i), source); err != nil {
			return err
		}
	}
	if s.Git == nil && len(s.Sources) == 0 && !ChartElsewhere(s.Helm) && (s.Helm == nil || s.Helm.Git == nil) {
		return Field("git", "is needed: a service takes its files from git, from sources, or from a chart that helm.repository or helm.url has")
	}
	return nil
}

// checkChart checks where a Helm block's chart comes from.
func checkChart(h *specv1.Helm) error {
	switch {
	case h == nil:
		return nil
	case h.URL != "" && h.Chart == "":
		return Field("helm.chart", "is needed beside helm.url")
	case ChartElsewhere(h) && h.URL != "" && h.Repository != "":
		return Field("helm.url", "cannot be set beside helm.repository")
	case ChartElsewhere(h):
		return nil
	}
	return checkGit("helm.git", "helm.repository", h.Git, h.Repository)
}

// checkOneSource checks one of several sources.
func checkOneSource(at string, source specv1.Source) error {
	if err := checkInside(at+".path", strings.Trim(source.Path, "/")); err != nil {
		return err
	}
	first, _, _ := strings.Cut(CleanPath(source.Path), "/")
	if first == ChartPath || first == HiddenParts {
		return Field(at+".path", "%q is reserved for the hub", first)
	}
	switch {
	case source.Chart != "" && source.Git != nil:
		return Field(at+".git", "cannot be set beside %s.chart", at)
	case source.Chart != "" && (source.Repository == "") == (source.URL == ""):
		return Field(at+".repository", "or %s.url is needed beside %s.chart, not both", at, at)
	case source.Chart != "":
		return nil
	case source.Version != "":
		return Field(at+".chart", "is needed beside %s.version", at)
	case source.URL != "":
		return Field(at+".url", "is for charts; name the repository by %s.repository or %s.git.url", at, at)
	case source.Git == nil && source.Repository != "":
		// A bucket needs nothing more; whether the repository is one is checked
		// later.
		return nil
	case source.Git == nil:
		return Field(at+".git", "is needed, or %s.chart", at)
	}
	return checkGit(at+".git", at+".repository", source.Git, source.Repository)
}

// checkGit checks one Git source with its repository.
func checkGit(at, repositoryAt string, g *specv1.Git, repository string) error {
	switch {
	case g == nil && repository == "":
		return nil
	case g == nil:
		return Field(at, "is needed beside %s: set its ref and folder", repositoryAt)
	case repository == "" && g.URL == "":
		return Field(repositoryAt, "is needed, or %s.url of a repository that is registered", at)
	case repository != "" && g.URL != "":
		return Field(at+".url", "cannot be set beside %s", repositoryAt)
	case len(g.Files) > maxItems:
		return Field(at+".files", "lists more than %d files", maxItems)
	}
	if err := checkInside(at+".folder", strings.Trim(g.Folder, "/")); err != nil {
		return err
	}
	for i, file := range g.Files {
		if err := checkInside(fmt.Sprintf("%s.files[%d]", at, i), strings.Trim(file, "/")); err != nil {
			return err
		}
	}
	return nil
}

func checkRendering(_ string, s specv1.Spec) error {
	if err := checkHelm("helm", s.Helm); err != nil {
		return err
	}
	if s.Kustomize != nil {
		if err := checkInside("kustomize.path", s.Kustomize.Path); err != nil {
			return err
		}
	}
	if len(s.Renderers) > maxItems {
		return Field("renderers", "lists more than %d", maxItems)
	}
	for i, r := range s.Renderers {
		at := fmt.Sprintf("renderers[%d]", i)
		if err := checkRenderer(at, r); err != nil {
			return err
		}
	}
	return nil
}

func checkHelm(at string, h *specv1.Helm) error {
	if h == nil {
		return nil
	}
	if h.Release != "" && (len(h.Release) > maxRelease || !rule.Label.Valid(h.Release)) {
		return Field(at+".release", "%.80q is not a release name; use up to %d lower case letters, digits and dashes", h.Release, maxRelease)
	}
	if len(h.ValuesFiles) > maxItems {
		return Field(at+".valuesFiles", "lists more than %d", maxItems)
	}
	for i, file := range h.ValuesFiles {
		if err := checkInside(fmt.Sprintf("%s.valuesFiles[%d]", at, i), file); err != nil {
			return err
		}
	}
	return checkInside(at+".kustomizePostrender", h.KustomizePostrender)
}

func checkSettings(_ string, s specv1.Spec) error {
	if s.Drift != "" && s.Drift != "report" && s.Drift != "strict" {
		return Field("drift", "%.80q does not exist; use report or strict", s.Drift)
	}
	for key := range s.Configuration {
		if key == "" {
			return Field("configuration", "has an empty key")
		}
		if _, both := s.Secrets[key]; both {
			return Field("secrets."+key, "is also in configuration; give the value in only one of them")
		}
	}
	for key, value := range s.Secrets {
		if key == "" {
			return Field("secrets", "has an empty key")
		}
		// The error of the decoder would quote the secret.
		if key == specv1.ChartValues && value != "" && ChartValues(value) == nil {
			return Field("secrets."+key, "holds the values of the service's chart; it must be a JSON object of at most 1 MiB")
		}
	}
	if err := checkValues(s); err != nil {
		return err
	}
	if s.SyncConfig != nil {
		for i, n := range s.SyncConfig.DiffNormalizers {
			if len(n.JSONPointers) == 0 {
				return Field(fmt.Sprintf("syncConfig.diffNormalizers[%d].jsonPointers", i), "is needed")
			}
		}
	}
	return nil
}

// checkValues checks the values that the service takes from elsewhere.
func checkValues(s specv1.Spec) error {
	if len(s.SecretRefs) > maxItems || len(s.Contexts) > maxItems || len(s.Imports) > maxItems {
		return Field("secretRefs", "a service has at most %d each of secretRefs, contexts and imports", maxItems)
	}
	for key, r := range s.SecretRefs {
		switch {
		case key == "":
			return Field("secretRefs", "has an empty key")
		case r.Path == "":
			return Field("secretRefs."+key+".path", "is needed: where the secret lies in its backend")
		}
	}
	for i, name := range s.Contexts {
		if slices.Contains(s.Contexts[:i], name) {
			return Field(fmt.Sprintf("contexts[%d]", i), "%.80q is listed twice", name)
		}
	}
	for i, one := range s.Imports {
		if one.Stack == "" || slices.Contains(s.Imports[:i], one) {
			return Field(fmt.Sprintf("imports[%d].stack", i), "%.80q is empty or listed twice", one.Stack)
		}
	}
	return nil
}

func checkDependencies(name string, s specv1.Spec) error {
	if len(s.Dependencies) > maxItems {
		return Field("dependencies", "lists more than %d", maxItems)
	}
	for i, d := range s.Dependencies {
		at := fmt.Sprintf("dependencies[%d]", i)
		if err := CheckName(at+".name", d.Name); err != nil {
			return err
		}
		if d.Cluster == "" && d.Name == name {
			return Field(at+".name", "a service cannot depend on itself")
		}
	}
	return nil
}

// NotActing returns the paths of fields that are set and stored but have no
// effect yet, so that users need not find out by waiting.
func NotActing(s specv1.Spec) []string {
	var paths []string
	add := func(path string, set bool) {
		if set {
			paths = append(paths, path)
		}
	}
	if h := s.Helm; h != nil {
		// A chart needs a repository, and its version needs a chart. Where the
		// chart could come from two places, the chart repository wins.
		elsewhere := ChartElsewhere(h)
		add("helm.chart", h.Chart != "" && !elsewhere)
		add("helm.version", h.Version != "" && !elsewhere)
		add("helm.git", h.Git != nil && elsewhere)
	}
	for i, r := range s.Renderers {
		if h := r.Helm; h != nil {
			at := fmt.Sprintf("renderers[%d].helm", i)
			add(at+".url", h.URL != "")
			add(at+".chart", h.Chart != "")
			add(at+".version", h.Version != "")
			add(at+".repository", h.Repository != "")
			add(at+".git", h.Git != nil)
		}
	}
	add("docsPath", s.DocsPath != "")
	return paths
}

// ChartPath is where the chart of a service with other files lies: a hidden
// folder, so that no folder of a source has this name by chance and plain
// manifests do not include it.
const ChartPath = ".helm-chart"

// HiddenParts is where an agent puts a part whose files refer to files outside
// its folder; see agent/render.
const HiddenParts = ".axle-parts"

// ChartElsewhere reports whether the chart comes from a chart repository.
func ChartElsewhere(h *specv1.Helm) bool {
	return h != nil && h.Chart != "" && (h.URL != "" || h.Repository != "")
}

// CleanPath is the path of a part without slashes around, empty for the root.
func CleanPath(p string) string {
	return strings.Trim(path.Clean("/"+p), "/")
}
