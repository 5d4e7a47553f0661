package helm

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/ignore"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
	"github.com/axle-cd/axle/internal/vendored"
)

// maxNesting bounds the depth of file:// dependencies between charts.
const maxNesting = 16

// loadChart reads the chart in a folder of the tree, with its subcharts in a fixed
// order.
func loadChart(files *tree.Tree, dir string) (*chart.Chart, error) {
	l := loading{files: files}
	c, err := l.nested(dir, 0)
	if err != nil {
		return nil, err
	}
	if err := l.unread(c); err != nil {
		return nil, err
	}
	sortSubcharts(c)
	return c, nil
}

// loading is one load of a chart and those that it has by file://.
type loading struct {
	files  *tree.Tree
	astray []astray
}

// astray is a file of a chart that cannot be read: a link that leads nowhere.
type astray struct {
	file, why string
	name      string // in the chart's folder
}

func (l *loading) nested(dir string, depth int) (*chart.Chart, error) {
	file := path.Join(dir, "Chart.yaml")
	if depth > maxNesting {
		return nil, &manifest.Error{File: file, Message: fmt.Sprintf("charts depend on each other by file:// more than %d deep", maxNesting)}
	}
	buffered, err := l.buffer(dir)
	if err != nil {
		return nil, err
	}
	c, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, &manifest.Error{File: file, Message: "cannot load the chart: " + err.Error()}
	}
	if v := c.Metadata.APIVersion; v != chart.APIVersionV1 && v != chart.APIVersionV2 {
		return nil, &manifest.Error{File: file, Message: fmt.Sprintf("the chart has the apiVersion %q; Helm installs charts of v1 and v2", v)}
	}
	for _, need := range c.Metadata.Dependencies {
		if need == nil || slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return d.Name() == need.Name }) {
			continue
		}
		local, ok := strings.CutPrefix(need.Repository, "file://")
		if from := path.Join(dir, local); ok && l.files.IsFile(path.Join(from, "Chart.yaml")) {
			sub, err := l.nested(from, depth+1)
			if err != nil {
				return nil, err
			}
			c.AddDependency(sub)
			continue
		}
		return nil, &manifest.Error{File: file, Message: fmt.Sprintf(
			"the chart depends on %s %s, which is not in its charts folder; run helm dependency update and commit charts/", need.Name, need.Version)}
	}
	return c, nil
}

// unmatched warns of dependencies whose chart is there in another version than its parent asks
// for. Helm renders that chart as if nobody depended on it, without a word: its values are not
// those under the alias, and no condition or tag switches it off.
func unmatched(file string, c *chart.Chart) (warnings []string) {
	for _, need := range c.Metadata.Dependencies {
		if need == nil || need.Alias == "" && need.Condition == "" && len(need.Tags) == 0 && len(need.ImportValues) == 0 {
			continue
		}
		var other *chart.Chart
		for _, d := range c.Dependencies() {
			if d.Name() != need.Name {
				continue
			}
			if other = d; chartutil.IsCompatibleRange(need.Version, d.Metadata.Version) {
				other = nil
				break
			}
		}
		if other != nil {
			warnings = append(warnings, fmt.Sprintf("%s: the chart depends on %s %s, and the one in its charts folder is %s; as with Helm, alias, condition, tags and import-values of the dependency have no effect",
				file, need.Name, need.Version, other.Metadata.Version))
		}
	}
	return warnings
}

// buffer reads the files of a chart: all files in its folder that .helmignore does
// not exclude. A file that cannot be read is put aside unless the chart consists of it.
func (l *loading) buffer(dir string) ([]*archive.BufferedFile, error) {
	files := l.files
	rules := ignore.Empty()
	if file := path.Join(dir, ignore.HelmIgnore); files.IsFile(file) {
		text, err := files.Read(file)
		if err != nil {
			return nil, err
		}
		if rules, err = ignore.Parse(bytes.NewReader(text)); err != nil {
			return nil, &manifest.Error{File: file, Message: err.Error()}
		}
	}
	rules.AddDefaults()
	var out []*archive.BufferedFile
	for _, file := range files.Below(dir) {
		name := file
		if dir != "." {
			name = strings.TrimPrefix(file, dir+"/")
		}
		// Files that the hub vendored for others are not part of this chart.
		if ignored(rules, name) || strings.HasPrefix(name, vendored.Folder+"/") {
			continue
		}
		if why := files.Why(file); why != "" && !part.MatchString(name) {
			l.astray = append(l.astray, astray{file: file, why: why, name: name})
			continue
		}
		text, err := files.Read(file)
		if err != nil {
			return nil, err
		}
		out = append(out, &archive.BufferedFile{Name: name, Data: bytes.TrimPrefix(text, []byte("\ufeff"))})
	}
	return out, nil
}

// part matches the files that a chart consists of. Others only a template can read.
var part = regexp.MustCompile(`^(Chart\.(yaml|lock)|values\.(yaml|schema\.json)|requirements\.(yaml|lock)|(templates|crds|charts)(/.*)?)$`)

// unread fails if a template may read a file that was put aside: it would be empty there.
func (l *loading) unread(c *chart.Chart) error {
	if len(l.astray) == 0 {
		return nil
	}
	reads := readsOf(c)
	for _, a := range l.astray {
		if slices.ContainsFunc(reads, func(start string) bool { return strings.HasPrefix(a.name, start) }) {
			return &manifest.Error{File: a.file, Message: a.why + "; a template of the chart may read it by .Files"}
		}
	}
	return nil
}

// ofFiles matches a use of .Files in a template, with the literal name or pattern if it has one.
var ofFiles = regexp.MustCompile("\\.Files\\b(?:\\.(?:Get|GetBytes|Lines|Glob)\\s+[\"`]([^\"`]+)[\"`])?")

// readsOf returns how the names of files begin that the templates of a chart and its subcharts may
// read.
func readsOf(c *chart.Chart) (starts []string) {
	for _, t := range c.Templates {
		for _, use := range ofFiles.FindAllSubmatch(t.Data, -1) {
			literal := string(use[1])
			if at := strings.IndexAny(literal, `*?[{\`); at >= 0 {
				literal = literal[:at]
			}
			starts = append(starts, literal)
		}
	}
	for _, sub := range c.Dependencies() {
		starts = append(starts, readsOf(sub)...)
	}
	return starts
}

// ignored checks the rules for the file and each folder above it.
func ignored(rules *ignore.Rules, name string) bool {
	for i, r := range name {
		if r == '/' && rules.Ignore(name[:i], fs.FileInfo(entry{name[:i], true})) {
			return true
		}
	}
	return rules.Ignore(name, fs.FileInfo(entry{name, false}))
}

func sortSubcharts(c *chart.Chart) {
	subs := slices.Clone(c.Dependencies())
	slices.SortStableFunc(subs, func(a, b *chart.Chart) int {
		if n := strings.Compare(a.Name(), b.Name()); n != 0 {
			return n
		}
		return strings.Compare(a.Metadata.Version, b.Metadata.Version)
	})
	c.SetDependencies(subs...)
	for _, sub := range subs {
		sortSubcharts(sub)
	}
}
