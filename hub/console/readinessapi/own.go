package readinessapi

import (
	"slices"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/removals"
)

// The minor versions of Kubernetes that a release works with: from the oldest that its charts take
// to the one whose client library it is built with.
const (
	oldestKube = 30
	newestKube = 37
)

// ownCharts are the charts of a release.
var ownCharts = []string{"axle", "axle-agent"}

// Own returns the compatibility matrix of one of the release's own charts, nil for other names. It
// has the version of the hub alone: of others, their own release knows.
func Own(name, version string) *hubv1.CustomCompatibilityMatrixSettings {
	if !slices.Contains(ownCharts, name) {
		return nil
	}
	one := &hubv1.CompatibilityVersion{Version: version, ChartVersion: version}
	for minor := uint(oldestKube); minor <= newestKube; minor++ {
		one.Kube = append(one.Kube, removals.Minor(minor))
	}
	return &hubv1.CustomCompatibilityMatrixSettings{Versions: []*hubv1.CompatibilityVersion{one}}
}
