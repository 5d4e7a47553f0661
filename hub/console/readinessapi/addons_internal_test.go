package readinessapi

import (
	"strings"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

func TestAddonsAreComparedWithTheVersion(t *testing.T) {
	addon := func(kubeVersion string) *agentv1.ReadinessAddon {
		return &agentv1.ReadinessAddon{Release: "cni", Namespace: "kube-system", Chart: "cilium", Version: "1.15.1", KubeVersion: kubeVersion}
	}
	hidden := func(kubeVersion string) *agentv1.ReadinessAddon {
		a := addon(kubeVersion)
		a.Hidden = true
		return a
	}
	many := &agentv1.ReadinessCheck{Addons: []*agentv1.ReadinessAddon{addon("")}, LeftOut: 2}
	for name, tc := range map[string]struct {
		check    *agentv1.ReadinessCheck
		services bool
		state    string
		findings int
		notShown int32
		says     string
	}{
		"an agent that reports none": {nil, false, unknown, 0, 0, "upgrade the agent"},
		"not all were read":          {&agentv1.ReadinessCheck{Incomplete: "no rights", Addons: []*agentv1.ReadinessAddon{addon("")}}, false, unknown, 1, 0, "no rights"},
		"not all, and one refuses":   {&agentv1.ReadinessCheck{Incomplete: "no rights", Addons: []*agentv1.ReadinessAddon{addon("<1.30")}}, false, failed, 1, 0, "no rights"},
		"none":                       {&agentv1.ReadinessCheck{}, false, passed, 0, 0, ""},
		"none, and services":         {&agentv1.ReadinessCheck{}, true, notChecked, 0, 0, "what services deliver"},
		"no constraint":              {&agentv1.ReadinessCheck{Addons: []*agentv1.ReadinessAddon{addon("")}}, false, notChecked, 1, 0, "cilium 1.15.1 names no versions"},
		"one that takes it":          {&agentv1.ReadinessCheck{Addons: []*agentv1.ReadinessAddon{addon(">=1.21.0-0")}}, false, notChecked, 1, 0, "is in its own notes"},
		"one that does not":          {&agentv1.ReadinessCheck{Addons: []*agentv1.ReadinessAddon{addon(">=1.21.0-0"), addon(">=1.21.0-0 <1.37.0-0")}}, true, failed, 1, 0, "takes Kubernetes >=1.21.0-0 <1.37.0-0, and so not v1.37.2"},
		"one that nobody may see":    {&agentv1.ReadinessCheck{Addons: []*agentv1.ReadinessAddon{addon(""), hidden("<1.37")}}, false, failed, 0, 1, "objects that you may not list"},
		"others hidden":              {&agentv1.ReadinessCheck{Addons: []*agentv1.ReadinessAddon{hidden("")}}, false, notChecked, 0, 1, "objects that you may not list"},
		"not all fit":                {many, false, notChecked, 1, 2, "did not fit"},
		"nonsense":                   {&agentv1.ReadinessCheck{Addons: []*agentv1.ReadinessAddon{addon(">>x")}}, false, notChecked, 1, 0, "is no constraint"},
		"a long one":                 {&agentv1.ReadinessCheck{Addons: []*agentv1.ReadinessAddon{addon("<1.37" + strings.Repeat(" ", maxConstraint))}}, false, notChecked, 1, 0, "is no constraint"},
	} {
		got := addonsFor{to: "v1.37.2", services: tc.services}.check(tc.check)
		if got.GetState() != tc.state || len(got.GetFindings()) != tc.findings || got.GetNotShown() != tc.notShown || !strings.Contains(got.String(), tc.says) {
			t.Errorf("%s: %v", name, got)
		}
		if strings.Contains(got.String(), "cilium") && tc.findings == 0 {
			t.Errorf("%s: it names what is hidden: %v", name, got)
		}
	}
}
