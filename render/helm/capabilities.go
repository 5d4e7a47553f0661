package helm

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"helm.sh/helm/v4/pkg/chart/common"
)

// capabilities has the same fields as Helm's own, and records which API versions
// templates ask for.
type capabilities struct {
	KubeVersion common.KubeVersion
	APIVersions versions
	HelmVersion any
}

func newCapabilities(version string, apiVersions []string, andKnown bool) (*capabilities, error) {
	caps := &capabilities{
		KubeVersion: common.DefaultCapabilities.KubeVersion,
		APIVersions: versions(common.DefaultCapabilities.APIVersions),
		HelmVersion: common.DefaultCapabilities.HelmVersion,
	}
	if version != "" {
		parsed, err := common.ParseKubeVersion(version)
		if err != nil {
			return nil, fmt.Errorf("the cluster's Kubernetes version %q is not a version: %w", version, err)
		}
		caps.KubeVersion = *parsed
	}
	switch {
	case andKnown:
		caps.APIVersions = slices.Concat(caps.APIVersions, apiVersions)
	case len(apiVersions) > 0:
		caps.APIVersions = versions(apiVersions)
	}
	return caps, nil
}

// versions is a plain list, because templates also range over it. The requests are
// recorded separately, for the one render that runs at a time.
type versions []string

var (
	renders sync.Mutex
	asked   map[string]bool
)

// Has reports whether the cluster serves an API version.
func (v versions) Has(version string) bool {
	if asked != nil {
		asked[version] = true
	}
	return slices.Contains(v, version)
}

// record records the requests until stop, which returns them sorted. Renders in one
// process take turns.
func (c *capabilities) record() (stop func() []string) {
	renders.Lock()
	asked = map[string]bool{}
	return func() []string {
		defer renders.Unlock()
		var list []string
		for version := range asked {
			list = append(list, version)
		}
		asked = nil
		slices.Sort(list)
		return list
	}
}

var wholeList = regexp.MustCompile(`\.APIVersions\b(\.Has)?`)

// readsAllVersions reports whether a template uses the list for anything other than
// asking for one version.
func (rel *release) readsAllVersions() bool {
	for _, text := range rel.templates() {
		for _, found := range wholeList.FindAllSubmatch(text, -1) {
			if len(found[1]) == 0 {
				return true
			}
		}
	}
	return false
}
