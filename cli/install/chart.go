package install

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/deploy"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/internal/overlay"
)

// The marks by which Helm knows the objects of a release.
const (
	managedLabel       = "app.kubernetes.io/managed-by"
	releaseAnnotation  = "meta.helm.sh/release-name"
	releaseNSOfRelease = "meta.helm.sh/release-namespace"
)

// Request says what to render.
type Request struct {
	// Release and Namespace name the release.
	Release, Namespace string
	// Values are the user's, over those of the chart.
	Values map[string]any
	// Cluster gives the capabilities and lets templates look objects up; nil renders
	// without a cluster, as helm template does.
	Cluster *rest.Config
	// Revision is that of the release; Upgrade that it is not the first.
	Revision int
	Upgrade  bool
}

// Rendered is a chart with its values.
type Rendered struct {
	// Manifest is the text that a release stores.
	Manifest string
	// Hooks are what stock Helm runs around it.
	Hooks []*release.Hook
	// Notes are for people.
	Notes string
	// Values are those of the chart and the user's together.
	Values map[string]any
	chart  *chart.Chart
}

// loadChart reads the chart in this program, as the version of this program.
func loadChart() (*chart.Chart, error) {
	const root = "charts/axle"
	var files []*archive.BufferedFile
	err := fs.WalkDir(deploy.Charts, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := deploy.Charts.ReadFile(name)
		files = append(files, &archive.BufferedFile{Name: strings.TrimPrefix(name, root+"/"), Data: text})
		return err
	})
	if err != nil {
		return nil, err
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		return nil, errcode.New(errcode.Internal, "the chart in this program cannot be loaded: %w", err)
	}
	c.Metadata.AppVersion = buildinfo.Version
	return c, nil
}

// Render renders the chart. Values that are not known or contradict each other are
// Invalid, with what to set.
func Render(ctx context.Context, r Request) (*Rendered, error) {
	c, err := loadChart()
	if err != nil {
		return nil, err
	}
	capabilities, err := capabilitiesOf(r.Cluster)
	if err != nil {
		return nil, err
	}
	if want := c.Metadata.KubeVersion; r.Cluster != nil && !chartutil.IsCompatibleRange(want, capabilities.KubeVersion.String()) {
		return nil, errcode.New(errcode.Invalid, "the cluster has Kubernetes %s, and Axle needs %s: upgrade the cluster first", capabilities.KubeVersion.String(), strings.TrimSuffix(want, "-0"))
	}
	options := common.ReleaseOptions{Name: r.Release, Namespace: r.Namespace, Revision: r.Revision, IsInstall: !r.Upgrade, IsUpgrade: r.Upgrade}
	bindings, err := util.ToRenderValues(c, r.Values, options, capabilities)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the values do not fit the chart: %s", strings.TrimSpace(err.Error()))
	}
	var helm engine.Engine
	if r.Cluster != nil {
		helm = engine.New(r.Cluster)
	}
	texts, err := helm.RenderWithContext(ctx, c, bindings)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%s", said(err))
	}
	out := &Rendered{chart: c}
	out.Values, _ = bindings["Values"].(common.Values)
	return out, out.sort(texts)
}

// said is what a template said by fail, without Helm's way to it.
func said(err error) string {
	text := err.Error()
	if at := strings.LastIndex(text, "error calling fail: "); at >= 0 {
		return text[at+len("error calling fail: "):]
	}
	if at := strings.LastIndex(text, "): "); strings.HasPrefix(text, "execution error at") && at >= 0 {
		return text[at+len("): "):]
	}
	return text
}

// sort puts objects in Helm's order, and hooks and notes aside.
func (r *Rendered) sort(texts map[string]string) error {
	notes := path.Join(r.chart.Name(), "templates", "NOTES.txt")
	r.Notes = texts[notes]
	delete(texts, notes)
	hooks, manifests, err := releaseutil.SortManifests(texts, nil, releaseutil.InstallOrder)
	if err != nil {
		return errcode.New(errcode.Internal, "the chart renders what is not YAML: %w", err)
	}
	r.Hooks = hooks
	var text strings.Builder
	for _, m := range manifests {
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", m.Name, m.Content)
	}
	r.Manifest = text.String()
	return nil
}

// objects are those of a manifest, marked as Helm marks them.
func objects(manifest, name, namespace string) ([]*unstructured.Unstructured, error) {
	list, err := kubeapply.Documents([]byte(manifest))
	for _, object := range list {
		labels, annotations := object.GetLabels(), object.GetAnnotations()
		if labels == nil {
			labels = map[string]string{}
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		labels[managedLabel] = "Helm"
		annotations[releaseAnnotation], annotations[releaseNSOfRelease] = name, namespace
		object.SetLabels(labels)
		object.SetAnnotations(annotations)
	}
	return list, err
}

// capabilitiesOf asks the cluster for its version and API versions.
func capabilitiesOf(cluster *rest.Config) (*common.Capabilities, error) {
	if cluster == nil {
		return common.DefaultCapabilities, nil
	}
	client, err := discovery.NewDiscoveryClientForConfig(cluster)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "kubeconfig: %w", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "the cluster at %s does not answer: %w", cluster.Host, err)
	}
	groups, err := client.ServerGroups()
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "ask the cluster at %s for its APIs: %w", cluster.Host, err)
	}
	parsed, err := common.ParseKubeVersion(version.GitVersion)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the cluster at %s has the version %q, which is none: %w", cluster.Host, version.GitVersion, err)
	}
	var versions common.VersionSet
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			versions = append(versions, v.GroupVersion)
		}
	}
	return &common.Capabilities{KubeVersion: *parsed, APIVersions: versions, HelmVersion: common.DefaultCapabilities.HelmVersion}, nil
}

// valuesOf reads the user's values: the files in order, then the single ones.
func valuesOf(base map[string]any, files, sets []string) (map[string]any, error) {
	values := map[string]any{}
	overlay.Merge(values, base)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "read the values: %w", err)
		}
		var more map[string]any
		if err := yaml.UnmarshalStrict(text, &more); err != nil {
			return nil, errcode.New(errcode.Invalid, "values file %s: %w", file, err)
		}
		overlay.Merge(values, more)
	}
	for _, set := range sets {
		if err := strvals.ParseInto(set, values); err != nil {
			return nil, errcode.New(errcode.Invalid, "--set %s: %w; write key=value", set, err)
		}
	}
	return values, nil
}
