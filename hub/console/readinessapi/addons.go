package readinessapi

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// addons is the check of charts: the agent reports them, and the hub compares.
const addons = "addons"

// maxConstraint bounds a constraint that is parsed: an agent reports what anybody wrote who
// may write a Secret in its cluster.
const maxConstraint = 200

// addonsFor compares add-ons with a version of Kubernetes.
type addonsFor struct {
	to string
	// services is set when services deliver something to the cluster.
	services bool
}

// check is the check of a report. It fails for a chart that does not take the version. A chart
// that takes it has not been tried with it for that: it stands there, and does not count.
func (a addonsFor) check(c *agentv1.ReadinessCheck) *hubv1.ReadinessCheck {
	if c == nil {
		return checkOf(addons, nil, nil)
	}
	refused := &agentv1.ReadinessCheck{Examined: c.GetExamined(), Incomplete: c.GetIncomplete()}
	open := &agentv1.ReadinessCheck{Examined: c.GetExamined(), Incomplete: c.GetIncomplete(), LeftOut: c.GetLeftOut()}
	for _, one := range c.GetAddons() {
		message, takes := a.judge(one)
		into := open
		if !takes {
			into = refused
		}
		if one.GetHidden() {
			into.Withheld++
			continue
		}
		into.Findings = append(into.Findings, &agentv1.ReadinessFinding{Release: one.GetRelease(), Namespace: one.GetNamespace(), Message: message})
	}
	if len(refused.GetFindings())+int(refused.GetWithheld()) > 0 {
		return checkOf(addons, refused, nil)
	}
	out := checkOf(addons, open, nil)
	switch {
	case c.GetIncomplete() != "":
		out.State = unknown
	case out.GetState() == failed || a.services:
		out.State = notChecked
		out.Message = joined(out.GetMessage(), "the hub does not know which versions of Kubernetes these and what services deliver support; look at their own notes")
	}
	return out
}

// judge reports whether the chart of an add-on takes the version, and a sentence about it.
func (a addonsFor) judge(one *agentv1.ReadinessAddon) (message string, takes bool) {
	chart := strings.TrimSpace(one.GetChart() + " " + one.GetVersion())
	wanted := one.GetKubeVersion()
	to, in, err := compared(a.to, wanted)
	switch {
	case wanted == "":
		return fmt.Sprintf("its chart %s names no versions of Kubernetes", chart), true
	case err != nil:
		return fmt.Sprintf("its chart %s names the versions of Kubernetes in a text that is no constraint", chart), true
	case !in.Check(to):
		return fmt.Sprintf("its chart %s takes Kubernetes %s, and so not %s: upgrade the release first, since Helm refuses to afterwards", chart, wanted, a.to), false
	}
	return fmt.Sprintf("its chart %s takes Kubernetes %s; that it was tried with %s is in its own notes", chart, wanted, a.to), true
}

// compared reads a version and a constraint.
func compared(version, constraint string) (*semver.Version, *semver.Constraints, error) {
	if len(constraint) > maxConstraint {
		return nil, nil, errcode.New(errcode.Invalid, "it is longer than %d bytes", maxConstraint)
	}
	to, err := semver.NewVersion(version)
	if err != nil {
		return nil, nil, err
	}
	in, err := semver.NewConstraint(constraint)
	return to, in, err
}
