package fleet

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// maxSpec limits a spec's JSON, including secrets: it is sent to an agent
	// in one message and stored 20 times.
	maxSpec = 512 << 10
	// maxLabel is the longest DNS label.
	maxLabel = 63
	// maxRelease is Helm's own limit.
	maxRelease = 53
	// maxItems limits each list of a spec.
	maxItems = 200
	// maxSources limits the sources of one service: the agent fetches the
	// tarball of each separately.
	maxSources = 32
)

var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// field returns an Invalid error about a field of a spec.
func field(path, format string, args ...any) error {
	return errcode.New(errcode.Invalid, "%s: %s", path, fmt.Sprintf(format, args...))
}

// checkLabel returns nil when text is a DNS label.
func checkLabel(path, text string) error {
	if len(text) > maxLabel || !label.MatchString(text) {
		return field(path, "%.80q is not a name; use up to %d lower case letters, digits and dashes, with a letter or digit at both ends", text, maxLabel)
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
		return field(at, "%.200q leaves the source; give a path from its folder", p)
	}
	return nil
}

// Validate returns an Invalid error with the field when the spec can never
// work. What needs other rows (repository, dependencies) is checked when the
// service is stored.
func Validate(name string, s Spec) error {
	if err := checkLabel("name", name); err != nil {
		return err
	}
	if s.Namespace != "" {
		if err := checkLabel("namespace", s.Namespace); err != nil {
			return err
		}
	}
	if text, err := json.Marshal(s); err != nil || len(text) > maxSpec {
		return field("spec", "is larger than %d KiB; move large files into the repository", maxSpec>>10)
	}
	for _, check := range []func(string, Spec) error{checkSource, checkRendering, checkSettings, checkDependencies, checkWindows} {
		if err := check(name, s); err != nil {
			return err
		}
	}
	return nil
}

func checkSource(_ string, s Spec) error {
	if err := checkGit("git", "repository", s.Git, s.Repository); err != nil {
		return err
	}
	if err := checkChart(s.Helm); err != nil {
		return err
	}
	if len(s.Sources) > maxSources {
		return field("sources", "lists more than %d", maxSources)
	}
	for i, source := range s.Sources {
		if err := checkOneSource(fmt.Sprintf("sources[%d]", i), source); err != nil {
			return err
		}
	}
	if len(sourcesOf(s)) == 0 {
		return field("git", "is needed: a service takes its files from git, from sources, or from a chart that helm.repository or helm.url has")
	}
	return nil
}

// checkChart checks where a Helm block's chart comes from.
func checkChart(h *Helm) error {
	switch {
	case h == nil:
		return nil
	case h.URL != "" && h.Chart == "":
		return field("helm.chart", "is needed beside helm.url")
	case chartElsewhere(h) && h.URL != "" && h.Repository != "":
		return field("helm.url", "cannot be set beside helm.repository")
	case chartElsewhere(h):
		return nil
	}
	return checkGit("helm.git", "helm.repository", h.Git, h.Repository)
}

// checkOneSource checks one of several sources.
func checkOneSource(at string, source Source) error {
	if err := checkInside(at+".path", strings.Trim(source.Path, "/")); err != nil {
		return err
	}
	first, _, _ := strings.Cut(cleanPath(source.Path), "/")
	if first == ChartPath || first == hiddenParts {
		return field(at+".path", "%q is reserved for the hub", first)
	}
	switch {
	case source.Chart != "" && source.Git != nil:
		return field(at+".git", "cannot be set beside %s.chart", at)
	case source.Chart != "" && (source.Repository == "") == (source.URL == ""):
		return field(at+".repository", "or %s.url is needed beside %s.chart, not both", at, at)
	case source.Chart != "":
		return nil
	case source.Version != "":
		return field(at+".chart", "is needed beside %s.version", at)
	case source.URL != "":
		return field(at+".url", "is for charts; name the repository by %s.repository or %s.git.url", at, at)
	case source.Git == nil && source.Repository != "":
		// A bucket needs nothing more; whether the repository is one is checked
		// later.
		return nil
	case source.Git == nil:
		return field(at+".git", "is needed, or %s.chart", at)
	}
	return checkGit(at+".git", at+".repository", source.Git, source.Repository)
}

// checkGit checks one Git source with its repository.
func checkGit(at, repositoryAt string, g *Git, repository string) error {
	switch {
	case g == nil && repository == "":
		return nil
	case g == nil:
		return field(at, "is needed beside %s: say which ref and folder", repositoryAt)
	case repository == "" && g.URL == "":
		return field(repositoryAt, "is needed, or %s.url of a repository that is registered", at)
	case repository != "" && g.URL != "":
		return field(at+".url", "cannot be set beside %s", repositoryAt)
	case len(g.Files) > maxItems:
		return field(at+".files", "lists more than %d files", maxItems)
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

func checkRendering(_ string, s Spec) error {
	if err := checkHelm("helm", s.Helm); err != nil {
		return err
	}
	if s.Kustomize != nil {
		if err := checkInside("kustomize.path", s.Kustomize.Path); err != nil {
			return err
		}
	}
	if len(s.Renderers) > maxItems {
		return field("renderers", "lists more than %d", maxItems)
	}
	for i, r := range s.Renderers {
		at := fmt.Sprintf("renderers[%d]", i)
		if err := checkRenderer(at, r); err != nil {
			return err
		}
	}
	return nil
}

func checkHelm(at string, h *Helm) error {
	if h == nil {
		return nil
	}
	if h.Release != "" && (len(h.Release) > maxRelease || !label.MatchString(h.Release)) {
		return field(at+".release", "%.80q is not a release name; use up to %d lower case letters, digits and dashes", h.Release, maxRelease)
	}
	if len(h.ValuesFiles) > maxItems {
		return field(at+".valuesFiles", "lists more than %d", maxItems)
	}
	for i, file := range h.ValuesFiles {
		if err := checkInside(fmt.Sprintf("%s.valuesFiles[%d]", at, i), file); err != nil {
			return err
		}
	}
	return checkInside(at+".kustomizePostrender", h.KustomizePostrender)
}

func checkSettings(_ string, s Spec) error {
	if s.Drift != "" && s.Drift != "report" && s.Drift != "strict" {
		return field("drift", "%.80q does not exist; use report or strict", s.Drift)
	}
	for key := range s.Configuration {
		if key == "" {
			return field("configuration", "has an empty key")
		}
		if _, both := s.Secrets[key]; both {
			return field("secrets."+key, "is also in configuration; give the value in only one of them")
		}
	}
	for key := range s.Secrets {
		if key == "" {
			return field("secrets", "has an empty key")
		}
	}
	if err := checkValues(s); err != nil {
		return err
	}
	if s.SyncConfig != nil {
		for i, n := range s.SyncConfig.DiffNormalizers {
			if len(n.JSONPointers) == 0 {
				return field(fmt.Sprintf("syncConfig.diffNormalizers[%d].jsonPointers", i), "is needed")
			}
		}
	}
	return nil
}

// checkValues checks the values that the service takes from elsewhere.
func checkValues(s Spec) error {
	if len(s.SecretRefs) > maxItems || len(s.Contexts) > maxItems || len(s.Imports) > maxItems {
		return field("secretRefs", "a service has at most %d each of secretRefs, contexts and imports", maxItems)
	}
	for key, r := range s.SecretRefs {
		switch {
		case key == "":
			return field("secretRefs", "has an empty key")
		case r.Path == "":
			return field("secretRefs."+key+".path", "is needed: where the secret lies in its backend")
		}
	}
	for i, name := range s.Contexts {
		if slices.Contains(s.Contexts[:i], name) {
			return field(fmt.Sprintf("contexts[%d]", i), "%.80q is listed twice", name)
		}
	}
	for i, one := range s.Imports {
		if one.Stack == "" || slices.Contains(s.Imports[:i], one) {
			return field(fmt.Sprintf("imports[%d].stack", i), "%.80q is empty or listed twice", one.Stack)
		}
	}
	return nil
}

func checkDependencies(name string, s Spec) error {
	if len(s.Dependencies) > maxItems {
		return field("dependencies", "lists more than %d", maxItems)
	}
	for i, d := range s.Dependencies {
		at := fmt.Sprintf("dependencies[%d]", i)
		if err := checkLabel(at+".name", d.Name); err != nil {
			return err
		}
		if d.Cluster == "" && d.Name == name {
			return field(at+".name", "a service cannot depend on itself")
		}
	}
	return nil
}

// NotActing returns the paths of fields that are set and stored but have no
// effect yet, so that users need not find out by waiting.
func NotActing(s Spec) []string {
	var paths []string
	add := func(path string, set bool) {
		if set {
			paths = append(paths, path)
		}
	}
	if h := s.Helm; h != nil {
		// A chart needs a repository, and its version needs a chart. Where the
		// chart could come from two places, the chart repository wins.
		elsewhere := chartElsewhere(h)
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
	for i, d := range s.Dependencies {
		add(fmt.Sprintf("dependencies[%d].cluster", i), d.Cluster != "")
	}
	add("docsPath", s.DocsPath != "")
	return paths
}
