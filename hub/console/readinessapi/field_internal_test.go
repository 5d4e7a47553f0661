package readinessapi

import (
	"strings"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// These are reports about tools that compare versions of charts; test/field/readiness has them all.
func TestVersionsOfTheField(t *testing.T) {
	matrix := func(name string) (*hubv1.CustomCompatibilityMatrixSettings, error) {
		if name != "mesh" {
			return nil, nil
		}
		return &hubv1.CustomCompatibilityMatrixSettings{Versions: []*hubv1.CompatibilityVersion{
			{Version: "1.2.0", Kube: []string{"1.36"}}, {Version: "2.0.0-rc.1", Kube: []string{"1.36", "1.37"}}, {Version: "2.0.0", Kube: []string{"1.37"}}, {Version: "3.1.0+build.7", Kube: []string{"1.37"}},
		}}, nil
	}
	for name, tc := range map[string]struct {
		to                           string
		addon                        *agentv1.ReadinessAddon
		verdict, version, says, upTo string
	}{
		"a vendor's version of Kubernetes":          {"v1.37.2-eks-0a1b2c3", &agentv1.ReadinessAddon{Chart: "mesh", Version: "2.0.0", KubeVersion: ">=1.30.0"}, compatible, "2.0.0", "", ""},
		"a vendor's version that the chart refuses": {"v1.37.2-gke.100", &agentv1.ReadinessAddon{Chart: "mesh", Version: "2.0.0", KubeVersion: ">=1.30.0 <1.37.0"}, incompatible, "2.0.0", "and so not v1.37.2-gke.100", "3.1.0+build.7"},
		"what it installs is the latest":            {"1.37", &agentv1.ReadinessAddon{Chart: "mesh", Version: "2.0.3", AppVersion: "latest"}, compatible, "2.0.3", "", ""},
		"the latest, and nothing is known":          {"1.37", &agentv1.ReadinessAddon{Chart: "proxy", Version: "0.4.0", AppVersion: "main"}, addonUnknown, "0.4.0", "--skeleton", ""},
		"a commit":                                  {"1.37", &agentv1.ReadinessAddon{Chart: "mesh", Version: "1.2.0", AppVersion: "4ca75a2b"}, incompatible, "1.2.0", "upgrade it to 2.0.0 first", "2.0.0"},
		"no version can be read":                    {"1.37", &agentv1.ReadinessAddon{Chart: "proxy", AppVersion: "main"}, addonUnknown, "main", "label app.kubernetes.io/version", ""},
		"metadata of a build":                       {"1.37", &agentv1.ReadinessAddon{Chart: "mesh", AppVersion: "v3.1.0+build.9"}, compatible, "v3.1.0+build.9", "", ""},
		"nobody is sent to a pre-release":           {"1.37", &agentv1.ReadinessAddon{Chart: "mesh", AppVersion: "stable"}, versionUnknown, "stable", "label app.kubernetes.io/version", "2.0.0"},
		"whoever has one may have the next":         {"1.37", &agentv1.ReadinessAddon{Chart: "mesh", Version: "1.9.0-rc.1"}, versionUnknown, "1.9.0-rc.1", "does not have its version", "2.0.0-rc.1"},
	} {
		got, err := addonsFor{cluster: "edge", now: "v1.36.3", to: tc.to, matrix: matrix}.judge(tc.addon)
		if err != nil || got.GetVerdict() != tc.verdict || got.GetVersion() != tc.version || !strings.Contains(got.GetMessage(), tc.says) || got.GetUpgradeTo() != tc.upTo {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
