package helm

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
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
	c, err := loadNested(files, dir, 0)
	if err != nil {
		return nil, err
	}
	sortSubcharts(c)
	return c, nil
}

func loadNested(files *tree.Tree, dir string, depth int) (*chart.Chart, error) {
	file := path.Join(dir, "Chart.yaml")
	if depth > maxNesting {
		return nil, &manifest.Error{File: file, Message: fmt.Sprintf("charts depend on each other by file:// more than %d deep", maxNesting)}
	}
	buffered, err := buffer(files, dir)
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
		if from := path.Join(dir, local); ok && files.IsFile(path.Join(from, "Chart.yaml")) {
			sub, err := loadNested(files, from, depth+1)
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
// not exclude.
func buffer(files *tree.Tree, dir string) ([]*archive.BufferedFile, error) {
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
		text, err := files.Read(file)
		if err != nil {
			return nil, err
		}
		out = append(out, &archive.BufferedFile{Name: name, Data: bytes.TrimPrefix(text, []byte("\ufeff"))})
	}
	return out, nil
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
