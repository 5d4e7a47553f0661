package readinessapi

import (
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/removals"
)

// matrixName is the name of the compatibility matrix of a chart: the names of charts may have
// letters that those of objects have not.
func matrixName(chart string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(chart)), "-.")
}

// listed is one version of a matrix.
type listed struct {
	*hubv1.CompatibilityVersion
	version *semver.Version
}

// versions are those of a matrix, the lowest first.
type versions []listed

func matrixOf(m *hubv1.CustomCompatibilityMatrixSettings) (all versions) {
	for _, v := range m.GetVersions() {
		if version, err := semver.NewVersion(v.GetVersion()); err == nil {
			all = append(all, listed{v, version})
		}
	}
	slices.SortStableFunc(all, func(x, y listed) int { return x.version.Compare(y.version) })
	return all
}

// entry is what the matrix lists for an add-on: its chart's version, else the highest version of
// the same minor one that is not above its own. Nil for none.
func (all versions) entry(of *agentv1.ReadinessAddon) *listed {
	if chart, err := semver.NewVersion(of.GetVersion()); err == nil {
		for i := range all {
			if v, err := semver.NewVersion(all[i].GetChartVersion()); err == nil && v.Equal(chart) {
				return &all[i]
			}
		}
	}
	have, err := semver.NewVersion(versionOf(of))
	if err != nil {
		return nil
	}
	for i := len(all) - 1; i >= 0; i-- {
		if v := all[i].version; v.Major() == have.Major() && v.Minor() == have.Minor() && !v.GreaterThan(have) {
			return &all[i]
		}
	}
	return nil
}

func (l listed) supports(to string) bool {
	return slices.ContainsFunc(l.GetKube(), func(k string) bool { return strings.TrimPrefix(k, "v") == removals.MinorOf(to) })
}

// upgrade sets the version to upgrade to, and what changes on the way: the lowest one that
// supports both the version that the cluster has and the other one, else the lowest that supports
// the other one.
func (all versions) upgrade(out *hubv1.ReadinessAddon, entry *listed, now, to string) {
	have, err := semver.NewVersion(out.GetVersion())
	if entry != nil {
		have, err = entry.version, nil
	}
	above := func(l listed) bool {
		if err != nil {
			return l.version.Prerelease() == ""
		}
		return l.version.GreaterThan(have) && (l.version.Prerelease() == "" || have.Prerelease() != "")
	}
	target := slices.IndexFunc(all, func(l listed) bool { return above(l) && l.supports(to) && l.supports(now) })
	if target < 0 {
		target = slices.IndexFunc(all, func(l listed) bool { return above(l) && l.supports(to) })
	}
	if target < 0 {
		return
	}
	out.UpgradeTo, out.UpgradeToChart = all[target].GetVersion(), all[target].GetChartVersion()
	for i, l := range all[:target+1] {
		s := l.GetSummary()
		if len(s.GetHelmChanges())+len(s.GetBreakingChanges()) == 0 || i != target && (err != nil || !above(l)) {
			continue
		}
		out.Changes = append(out.Changes, &hubv1.ReadinessAddonChange{Version: l.GetVersion(), HelmChanges: s.GetHelmChanges(), BreakingChanges: s.GetBreakingChanges()})
	}
}
