package readiness

import (
	"context"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/plain"
)

// maxChartText bounds each text of a chart in a report. One that is cut ends with a mark, and is
// no constraint any more.
const maxChartText = 200

// addon notes the chart of a release. Whoever may list the objects of path may know of it.
func (a *asked) addon(ctx context.Context, at place, of chart, path string) error {
	may, err := a.view.may(ctx, path)
	if err != nil {
		return err
	}
	a.charts = append(a.charts, &agentv1.ReadinessAddon{
		Release: at.name, Namespace: at.namespace, Hidden: !may,
		Chart: plain.Line(of.Name, maxChartText), Version: plain.Line(of.Version, maxChartText), KubeVersion: plain.Line(of.KubeVersion, maxChartText),
	})
	return nil
}

// addons reports the charts of live releases. The hub compares them with the version.
func (a *asked) addons(_ context.Context, r *result) error {
	r.examined(len(a.charts))
	r.check.Addons = a.charts[:min(len(a.charts), maxFindings)]
	r.check.LeftOut = int32(len(a.charts) - len(r.check.GetAddons()))
	if a.ofReleases.GetIncomplete() != "" {
		r.incomplete("not all releases of Helm could be read")
	}
	return nil
}
