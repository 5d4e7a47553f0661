package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/internal/release"
)

// The media types of a chart in a registry, as Helm has them.
const (
	typeChart       = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	typeChartConfig = "application/vnd.cncf.helm.config.v1+json"
)

// writeCharts packs every folder of deploy/charts with the version of the release,
// and one time for all files.
func (p *plan) writeCharts(to *release.Layout) ([]release.Artifact, error) {
	dirs, err := filepath.Glob(filepath.Join(p.source, "deploy", "charts", "*", "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	var out []release.Artifact
	for _, file := range dirs {
		c, err := loader.LoadDir(filepath.Dir(file))
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", filepath.Dir(file), err)
		}
		packed, err := pack(c, p.version, p.when, p.out)
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", c.Name(), err)
		}
		data, err := os.ReadFile(packed)
		if err != nil {
			return nil, err
		}
		config, err := json.Marshal(c.Metadata)
		if err != nil {
			return nil, err
		}
		a, err := p.putChart(to, c.Name(), config, data)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// pack writes a chart into a folder and returns the file.
func pack(c *chart.Chart, version string, when time.Time, dir string) (string, error) {
	c.Metadata.Version, c.Metadata.AppVersion = version, version
	c.ModTime, c.SchemaModTime = when, when
	for _, f := range c.Raw {
		f.ModTime = when
	}
	for _, f := range c.Templates {
		f.ModTime = when
	}
	for _, f := range c.Files {
		f.ModTime = when
	}
	return chartutil.Save(c, dir)
}

func (p *plan) putChart(to *release.Layout, name string, config, data []byte) (release.Artifact, error) {
	c, err := to.Put(typeChartConfig, config)
	if err != nil {
		return release.Artifact{}, err
	}
	d, err := to.Put(typeChart, data)
	if err != nil {
		return release.Artifact{}, err
	}
	m, err := to.PutManifest("", c, []ocispec.Descriptor{d}, p.annotations(name))
	if err != nil {
		return release.Artifact{}, err
	}
	a := release.Artifact{Repository: release.Prefix + "charts/" + name, Tag: p.version, Digest: m.Digest}
	to.Name(m, a.Ref())
	return a, nil
}
