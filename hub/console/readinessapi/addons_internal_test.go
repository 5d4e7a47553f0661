package readinessapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// known are matrices: cilium has versions with and without a chart's, and one that is listed by
// mistakes of people only.
func known(name string) (*hubv1.CustomCompatibilityMatrixSettings, error) {
	breaking := func(texts ...string) *hubv1.CompatibilitySummary {
		return &hubv1.CompatibilitySummary{BreakingChanges: texts}
	}
	switch name {
	case "cilium":
		return &hubv1.CustomCompatibilityMatrixSettings{ReleaseUrl: "https://example.test/notes", Versions: []*hubv1.CompatibilityVersion{
			{Version: "1.17.0", Kube: []string{"1.36", "1.37"}, Summary: breaking("the third")},
			{Version: "1.15.0", Kube: []string{"1.35", "1.36"}, Summary: breaking("the first")},
			{Version: "v1.15.9", ChartVersion: "9.0.0", Kube: []string{"1.36", "v1.37"}},
			{Version: "1.18.0", Kube: []string{"1.37"}}, {Version: "1.16.0", Kube: []string{"1.36"}, Summary: breaking("the second")},
			{Version: "1.16.5-rc.1", Kube: []string{"1.36", "1.37"}},
		}}, nil
	case "nothing":
		return &hubv1.CustomCompatibilityMatrixSettings{}, nil
	case "broken":
		return nil, errors.New("the database is gone")
	}
	return nil, nil
}

func TestAddonsAreJudged(t *testing.T) {
	of := addonsFor{cluster: "edge", now: "v1.36.3", to: "v1.37.2", matrix: known}
	for name, tc := range map[string]struct {
		addon   *agentv1.ReadinessAddon
		verdict string
		says    string
		upgrade string
	}{
		"no matrix":                           {&agentv1.ReadinessAddon{Chart: "envoy", Version: "1.0.0"}, addonUnknown, "axle clusters readiness edge --to v1.37.2 --skeleton", ""},
		"no matrix, and the chart takes it":   {&agentv1.ReadinessAddon{Chart: "envoy", Version: "1.0.0", KubeVersion: ">=1.21.0-0"}, addonUnknown, "no compatibility matrix", ""},
		"no matrix, and the chart refuses":    {&agentv1.ReadinessAddon{Chart: "envoy", Version: "1.0.0", KubeVersion: "<1.37.0-0"}, incompatible, "and so not v1.37.2", ""},
		"nothing names it":                    {&agentv1.ReadinessAddon{Object: "CustomResourceDefinition a"}, addonUnknown, "labels app.kubernetes.io/name", ""},
		"an empty matrix":                     {&agentv1.ReadinessAddon{Chart: "nothing", Version: "1.0.0"}, versionUnknown, "does not have its version 1.0.0", ""},
		"no version":                          {&agentv1.ReadinessAddon{Chart: "cilium"}, versionUnknown, "its version is (unknown), which no compatibility matrix can list", "v1.15.9"},
		"it supports it":                      {&agentv1.ReadinessAddon{Chart: "Cilium", Version: "1.17.0"}, compatible, "cilium 1.17.0 supports", ""},
		"a later patch of one that does":      {&agentv1.ReadinessAddon{Chart: "cilium", Version: "v1.17.4"}, compatible, "", ""},
		"the next listed patch counts":        {&agentv1.ReadinessAddon{Chart: "cilium", Version: "1.15.12"}, compatible, "cilium v1.15.9 supports", ""},
		"an earlier patch is not that one":    {&agentv1.ReadinessAddon{Chart: "cilium", Version: "1.15.8"}, incompatible, "supports Kubernetes 1.35, 1.36, and so not 1.37: upgrade it to v1.15.9 first", "v1.15.9"},
		"by the version of its chart":         {&agentv1.ReadinessAddon{Chart: "cilium", Version: "9.0.0", AppVersion: "1.10.0"}, compatible, "", ""},
		"by the version of what it installs":  {&agentv1.ReadinessAddon{Chart: "cilium", Version: "9.9.9", AppVersion: "1.16.1"}, incompatible, "upgrade it to 1.17.0 first", "1.17.0"},
		"another minor version":               {&agentv1.ReadinessAddon{Chart: "cilium", Version: "1.14.9"}, versionUnknown, "does not have its version 1.14.9", "v1.15.9"},
		"above all that are listed":           {&agentv1.ReadinessAddon{Chart: "cilium", Version: "2.0.0"}, versionUnknown, "", ""},
		"no version at all":                   {&agentv1.ReadinessAddon{Chart: "cilium", Version: "latest"}, versionUnknown, "its version is latest, which no", "v1.15.9"},
		"it does, and its chart refuses":      {&agentv1.ReadinessAddon{Chart: "cilium", Version: "1.17.0", KubeVersion: "<1.37.0-0"}, incompatible, "Helm refuses", "1.18.0"},
		"a constraint of nonsense":            {&agentv1.ReadinessAddon{Chart: "cilium", Version: "1.17.0", KubeVersion: ">>x"}, compatible, "", ""},
		"a long constraint":                   {&agentv1.ReadinessAddon{Chart: "cilium", Version: "1.17.0", KubeVersion: "<1.37" + strings.Repeat(" ", maxConstraint)}, compatible, "", ""},
		"its record says what is not running": {&agentv1.ReadinessAddon{Chart: "cilium", Version: "1.17.0", Labelled: "cilium-1.16.0"}, versionUnknown, "have the label cilium-1.16.0", ""},
	} {
		got, err := of.judge(tc.addon)
		if err != nil || got.GetVerdict() != tc.verdict || !strings.Contains(got.GetMessage(), tc.says) || got.GetUpgradeTo() != tc.upgrade {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	got, err := of.judge(&agentv1.ReadinessAddon{Chart: "cilium", Version: "1.15.9-rc.1", AppVersion: "1.14.0"})
	if err != nil || got.GetUpgradeTo() != "v1.15.9" {
		t.Errorf("%v, %v", got, err)
	}
	// What changes on the way is of all versions on it, and of no other one.
	got, err = of.judge(&agentv1.ReadinessAddon{Chart: "cilium", Version: "1.16.0"})
	texts := ""
	for _, c := range got.GetChanges() {
		texts += fmt.Sprint(c.GetVersion(), c.GetBreakingChanges())
	}
	if err != nil || texts != "1.17.0[the third]" || got.GetReleaseUrl() == "" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := of.judge(&agentv1.ReadinessAddon{Chart: "broken"}); err == nil {
		t.Error("a matrix that cannot be read passes for none")
	}
}

// Unknown is never ready, and what is hidden counts as what is not.
func TestAddonsCountByTheirVerdicts(t *testing.T) {
	addon := func(chart string, change func(a *agentv1.ReadinessAddon)) *agentv1.ReadinessAddon {
		a := &agentv1.ReadinessAddon{Release: "cni", Namespace: "kube-system", Chart: chart, Version: "1.17.0"}
		if change != nil {
			change(a)
		}
		return a
	}
	hidden := func(a *agentv1.ReadinessAddon) { a.Hidden = true }
	old := func(a *agentv1.ReadinessAddon) { a.Version = "1.16.0" }
	theirs := func(a *agentv1.ReadinessAddon) { a.Release, a.ServiceId = "", "svc_2" }
	ours := func(a *agentv1.ReadinessAddon) { a.Release, a.ServiceId = "", "svc_1" }
	check := func(all ...*agentv1.ReadinessAddon) *agentv1.ReadinessCheck {
		return &agentv1.ReadinessCheck{AddOnsOnly: true, Addons: all}
	}
	incomplete, many, loose := check(addon("cilium", nil)), check(addon("cilium", nil)), check()
	incomplete.Incomplete, many.LeftOut, loose.Unattributed = "no rights", 2, 3
	for name, tc := range map[string]struct {
		check    *agentv1.ReadinessCheck
		state    string
		addons   int
		findings int
		notShown int32
		says     string
	}{
		"an agent that reports none": {nil, unknown, 0, 0, 0, "upgrade the agent"},
		"an agent of before":         {&agentv1.ReadinessCheck{Addons: []*agentv1.ReadinessAddon{addon("cilium", nil)}}, unknown, 0, 0, 0, "upgrade the agent"},
		"not all were read":          {incomplete, unknown, 1, 0, 0, "no rights"},
		"none":                       {check(), passed, 0, 0, 0, ""},
		"what belongs to nobody":     {loose, passed, 0, 0, 0, "3 objects of the cluster as a whole"},
		"all are known":              {check(addon("cilium", nil)), passed, 1, 0, 0, ""},
		"one is not":                 {check(addon("cilium", nil), addon("envoy", nil)), unknown, 2, 1, 0, "--skeleton"},
		"one does not support it":    {check(addon("cilium", old), addon("envoy", nil)), failed, 2, 2, 0, ""},
		"one that nobody may see":    {check(addon("envoy", hidden)), unknown, 0, 0, 1, "objects that you may not list"},
		"a known one nobody may see": {check(addon("cilium", hidden)), passed, 0, 0, 0, ""},
		"of a service of others":     {check(addon("envoy", theirs)), unknown, 0, 0, 1, "services that you may not read"},
		"a known one of others":      {check(addon("cilium", theirs)), passed, 0, 0, 0, ""},
		"of a service":               {check(addon("envoy", ours)), unknown, 1, 1, 0, ""},
		"not all fit":                {many, unknown, 1, 0, 2, "did not fit"},
	} {
		got, err := addonsFor{now: "1.36", to: "1.37", matrix: known, readable: map[string]string{"svc_1": "web"}}.check(tc.check)
		if err != nil || got.GetState() != tc.state || len(got.GetAddons()) != tc.addons || len(got.GetFindings()) != tc.findings || got.GetNotShown() != tc.notShown || !strings.Contains(got.String(), tc.says) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A release that anybody may write warns by its name, and never decides.
func TestChartsOfOtherReleasesWarn(t *testing.T) {
	release := &agentv1.ReadinessAddon{Release: "web", Namespace: "team-a", Chart: "web", Version: "1.0.0", KubeVersion: "<1.37.0-0"}
	hidden := &agentv1.ReadinessAddon{Release: "web", Namespace: "team-b", Chart: "web", Version: "1.0.0", KubeVersion: "<1.37.0-0", Hidden: true}
	fine := &agentv1.ReadinessAddon{Release: "job", Namespace: "team-a", KubeVersion: ">=1.21.0-0"}
	report := func(charts ...*agentv1.ReadinessAddon) *agentv1.ReadinessReport {
		out := &agentv1.ReadinessReport{Checks: []*agentv1.ReadinessCheck{{Name: addons, AddOnsOnly: true}, {Name: "charts", Addons: charts}}}
		for _, name := range names {
			out.Checks = append(out.Checks, &agentv1.ReadinessCheck{Name: name})
		}
		return out
	}
	got, err := shown(report(release, hidden, fine), addonsFor{to: "1.37", matrix: known})
	last := got.GetChecks()[len(got.GetChecks())-1]
	if err != nil || got.GetResult() != ready || last.GetState() != warning || len(last.GetFindings()) != 1 || last.GetFindings()[0].GetNamespace() != "team-a" || last.GetNotShown() != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := shown(report(fine), addonsFor{to: "1.37", matrix: known}); err != nil || got.GetChecks()[len(got.GetChecks())-1].GetState() != passed {
		t.Errorf("%v, %v", got, err)
	}
}

// Add-ons that share a large matrix make no answer larger than it may be.
func TestChangesAreBounded(t *testing.T) {
	long := []string{strings.Repeat("a", 200<<10)}
	of := addonsFor{now: "1.36", to: "1.37", matrix: func(string) (*hubv1.CustomCompatibilityMatrixSettings, error) {
		return &hubv1.CustomCompatibilityMatrixSettings{Versions: []*hubv1.CompatibilityVersion{{Version: "2.0.0", Kube: []string{"1.37"}, Summary: &hubv1.CompatibilitySummary{HelmChanges: long}}}}, nil
	}}
	c := &agentv1.ReadinessCheck{AddOnsOnly: true}
	for range 100 {
		c.Addons = append(c.Addons, &agentv1.ReadinessAddon{Chart: "cni", Version: "1.0.0"})
	}
	got, err := of.check(c)
	if err != nil || len(got.GetAddons()) != 100 || len(got.GetAddons()[0].GetChanges()) != 1 || len(got.GetAddons()[99].GetChanges()) != 0 || len(got.String()) > 2<<20 {
		t.Errorf("%d bytes, %v", len(got.String()), err)
	}
}
