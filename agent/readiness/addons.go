package readiness

import (
	"context"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/plain"
)

// maxChartText bounds each text of a chart in a report. One that is cut ends with a mark, and is
// no constraint any more.
const maxChartText = 200

// record notes the chart of a live release.
func (a *asked) record(at place, of chart) {
	one := &agentv1.ReadinessAddon{
		Release: at.name, Namespace: at.namespace, Chart: plain.Line(of.Name, maxChartText), Version: plain.Line(of.Version, maxChartText),
		KubeVersion: plain.Line(of.KubeVersion, maxChartText), AppVersion: plain.Line(of.AppVersion, maxChartText),
	}
	a.charts = append(a.charts, one)
}

// pods is the path of the pods of a namespace: whoever may see them sees by their labels which
// releases are there.
func pods(namespace string) string { return "/api/v1/namespaces/" + namespace + "/pods" }

// hide marks what the caller may not see; the objects of services are the hub's to hide.
func (a *asked) hide(ctx context.Context, one *agentv1.ReadinessAddon, path string) error {
	if one.GetServiceId() != "" {
		return nil
	}
	may, err := a.view.may(ctx, path)
	one.Hidden = !may
	return err
}

// addons reports what has objects that act on the cluster as a whole: a release of Helm, with the
// chart of its record, a service, or the chart of another tool by the labels of its objects. The
// hub compares them with the version.
func (a *asked) addons(ctx context.Context, r *result) error {
	r.check.AddOnsOnly = true
	if a.ofReleases.GetIncomplete() != "" {
		r.incomplete("not all releases of Helm could be read")
	}
	if err := a.extended(ctx); err != nil {
		return err
	}
	records := map[addonKey]*agentv1.ReadinessAddon{}
	for _, c := range a.charts {
		key := addonKey{namespace: c.GetNamespace(), release: c.GetRelease()}
		records[key] = c
		if c.GetNamespace() == system {
			a.noted(key, "namespace "+system, "")
		}
	}
	a.ofAddons = map[*agentv1.ReadinessAddon]bool{}
	for _, one := range a.foundAddons() {
		out, path := one.report(), one.path
		switch has := records[one.addonKey]; {
		case has != nil:
			has.Object, has.Labelled = out.GetObject(), plain.Line(one.contradicts(chart{Name: has.GetChart(), Version: has.GetVersion()}), maxChartText)
			out, a.ofAddons[has] = has, true
		case one.service != "" && out.GetChart() == "" && !one.extends:
			a.unattributed++ // rights only, and nothing that names a version
			continue
		}
		if one.namespace != "" {
			path = pods(one.namespace)
		}
		r.examined(1)
		if err := a.hide(ctx, out, path); err != nil {
			return err
		}
		r.addon(out)
	}
	r.check.Unattributed = int32(a.unattributed)
	return nil
}

// others reports the charts of the other live releases.
func (a *asked) others(ctx context.Context, r *result) error {
	for _, c := range a.charts {
		if a.ofAddons[c] {
			continue
		}
		r.examined(1)
		if c.GetKubeVersion() == "" {
			continue
		}
		if err := a.hide(ctx, c, pods(c.GetNamespace())); err != nil {
			return err
		}
		r.addon(c)
	}
	return nil
}

// addon adds one to the report, which has at most maxFindings.
func (r *result) addon(one *agentv1.ReadinessAddon) {
	if len(r.check.GetAddons()) >= maxFindings {
		r.check.LeftOut++
		return
	}
	r.check.Addons = append(r.check.Addons, one)
}
