package readinessapi

import (
	"fmt"
	"os"
	"strings"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// Our own charts are add-ons of a management cluster: the hub knows its own version, as the charts
// and the client library have it, and no other.
func TestTheHubKnowsItsOwnCharts(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, name := range ownCharts {
		if chart := read("deploy/charts/" + name + "/Chart.yaml"); !strings.Contains(chart, "name: "+name+"\n") || !strings.Contains(chart, fmt.Sprintf("kubeVersion: \">=1.%d.0-0\"", oldestKube)) {
			t.Errorf("the chart is %s", chart)
		}
	}
	if !strings.Contains(read("go.mod"), fmt.Sprintf("k8s.io/api v0.%d.", newestKube)) {
		t.Errorf("the library is not of 1.%d", newestKube)
	}
	for _, c := range []struct{ chart, version, to, want string }{
		{"axle", "1.4.2", "1.37", compatible},
		{"axle-agent", "1.4.2", "1.30", compatible},
		{"axle", "1.4.2", "1.38", incompatible},
		{"axle", "1.3.0", "1.37", versionUnknown},
		{"other", "1.4.2", "1.37", addonUnknown},
	} {
		of := addonsFor{cluster: "mgmt", now: "v1.36.0", to: c.to, matrix: func(name string) (*hubv1.CustomCompatibilityMatrixSettings, error) { return Own(name, "1.4.2"), nil }}
		out, err := of.judge(&agentv1.ReadinessAddon{Chart: c.chart, Version: c.version, AppVersion: c.version})
		if err != nil || out.GetVerdict() != c.want {
			t.Errorf("%s %s to %s: %s %s, %v", c.chart, c.version, c.to, out.GetVerdict(), out.GetMessage(), err)
		}
	}
}
