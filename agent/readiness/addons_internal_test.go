package readiness

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/kubeobj"
)

func TestLabelsOfChartsAreRead(t *testing.T) {
	for label, want := range map[string][2]string{
		"cert-manager-v1.14.5": {"cert-manager", "v1.14.5"}, "aws-ebs-csi-driver-2.30.0": {"aws-ebs-csi-driver", "2.30.0"}, "a-1.0.0-rc.1": {"a", "1.0.0-rc.1"},
		"a-1.0.0_build.7": {"a", "1.0.0+build.7"}, "no-version": {"no-version", ""}, "a-1.0": {"a-1.0", ""}, "-": {"-", ""}, "1.0.0": {"1.0.0", ""},
	} {
		if name, version := chartOf(label); name != want[0] || version != want[1] {
			t.Errorf("%s: %q %q", label, name, version)
		}
	}
	for name, tc := range map[string]struct {
		labels []string
		of     chart
		want   string
	}{
		"the record's":                      {[]string{"mesh-1.2.0"}, chart{Name: "mesh", Version: "1.2.0"}, ""},
		"another one":                       {[]string{"mesh-1.2.0"}, chart{Name: "mesh", Version: "1.2.01"}, "mesh-1.2.0"},
		"another one beside the record's":   {[]string{"mesh-1.2.0", "mesh-1.3.0"}, chart{Name: "mesh", Version: "1.3.0"}, ""},
		"of a chart within it":              {[]string{"grafana-7.0.0"}, chart{Name: "stack", Version: "60.0.0"}, ""},
		"without a version":                 {[]string{"mesh"}, chart{Name: "mesh", Version: "1.2.0"}, ""},
		"with a version that charts escape": {[]string{"mesh-1.2.0_b"}, chart{Name: "mesh", Version: "1.2.0+b"}, ""},
	} {
		if got := (&foundAddon{charts: tc.labels}).contradicts(tc.of); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// askedFor is a question by somebody who may see the pods of some namespaces.
func askedFor(may ...string) *asked {
	a := &asked{extending: map[addonKey]*foundAddon{}, owners: map[kubeobj.Ref]string{}, view: &view{Viewer: Viewer{Allowed: func(string) bool { return false }}, asked: map[string]bool{}}}
	for _, namespace := range may {
		a.view.asked[pods(namespace)] = true
	}
	return a
}

// Objects show add-ons by who has them, and those of the API server itself show none.
func TestObjectsShowAddons(t *testing.T) {
	a := askedFor()
	crd, role := extensions[0], extensions[len(extensions)-2]
	a.owners[kubeobj.Ref{Group: role.Group, Kind: "ClusterRole", Name: "of-service"}] = "svc_1"
	note := func(e extension, name string, labels, annotations map[string]string) {
		a.extendedBy(e, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations}})
	}
	note(role, "of-release", map[string]string{ofChart: "mesh-1.0.0"}, map[string]string{ofRelease: "mesh", ofNamespace: "net"})
	note(role, "of-service", map[string]string{ofApp: "proxy", ofVersion: "v2.0.0"}, nil)
	note(role, "of-tool", map[string]string{ofChart: "argo-3.0.0", ofInstance: "cd"}, nil)
	note(role, "admin", map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults", ofChart: "no-1.0.0"}, nil)
	note(role, "of-nobody", map[string]string{ofInstance: "x"}, nil)
	note(crd, "of-nobody", nil, nil)
	got := ""
	for _, f := range a.foundAddons() {
		r := f.report()
		got += fmt.Sprintf("%s%s/%s %s %s %s; ", r.GetServiceId(), r.GetNamespace(), r.GetRelease(), r.GetChart(), r.GetVersion(), r.GetAppVersion())
	}
	if got != "/cd argo 3.0.0 ; net/mesh mesh 1.0.0 ; svc_1/ proxy  v2.0.0; " || a.unattributed != 1 {
		t.Errorf("%s and %d of nobody", got, a.unattributed)
	}
}

// Thousands of releases of tenants neither take the place of an add-on nor make a report larger.
func TestManyReleasesAreBounded(t *testing.T) {
	a := askedFor("team")
	for i := range 5000 {
		a.record(place{namespace: "team", name: fmt.Sprint("web-", i)}, chart{Name: "web", Version: "1.0.0", KubeVersion: "<1.37"})
	}
	r := &result{asked: a, check: &agentv1.ReadinessCheck{}}
	if err := a.others(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if n := len(r.check.GetAddons()); n != maxFindings || r.check.GetLeftOut() != 5000-maxFindings || r.check.GetExamined() != 5000 {
		t.Errorf("%d charts, %d left out", n, r.check.GetLeftOut())
	}
}
