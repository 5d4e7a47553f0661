package readinessapi

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/removals"
	"github.com/axle-cd/axle/internal/rule"
)

// The checks of charts: the agent reports them, and the hub compares.
const (
	addons = "addons"
	charts = "charts"
)

// The verdicts about add-ons.
const (
	compatible     = "Compatible"
	incompatible   = "Incompatible"
	versionUnknown = "VersionUnknown"
	addonUnknown   = "AddonUnknown"
)

// maxConstraint bounds a constraint that is parsed: an agent reports what anybody wrote who
// may write a Secret in its cluster.
const maxConstraint = 200

// maxAddons bounds what add-ons take of an answer in bytes; those after it have no changes.
const maxAddons = 1 << 20

// addonsFor compares add-ons with a version of Kubernetes.
type addonsFor struct {
	// cluster is the name of the cluster, now the version that it has, and to the other one.
	cluster, now, to string
	// readable are the names of services, by id.
	readable map[string]string
	// matrix returns the compatibility matrix of a name, nil for none.
	matrix func(name string) (*hubv1.CustomCompatibilityMatrixSettings, error)
}

// check is the check of add-ons. One that does not support the version fails it. One that
// nothing is known about does not fail it and does not pass either.
func (a addonsFor) check(c *agentv1.ReadinessCheck) (*hubv1.ReadinessCheck, error) {
	if c != nil && !c.GetAddOnsOnly() {
		c = nil // an agent of before knows releases, and not which of them are add-ons
	}
	if c == nil {
		return checkOf(addons, nil, nil), nil
	}
	open := &agentv1.ReadinessCheck{Examined: c.GetExamined(), Incomplete: c.GetIncomplete(), LeftOut: c.GetLeftOut()}
	var shown []*hubv1.ReadinessAddon
	verdicts, room := map[string]int{}, maxAddons
	for _, one := range c.GetAddons() {
		judged, err := a.judge(one)
		if err != nil {
			return nil, err
		}
		verdicts[judged.GetVerdict()]++
		if room -= proto.Size(judged); room < 0 {
			judged.Changes = nil
		}
		service, may := a.readable[one.GetServiceId()]
		judged.Service = service
		if !one.GetHidden() && (may || one.GetServiceId() == "") {
			shown = append(shown, judged)
		}
		switch {
		case judged.GetVerdict() == compatible:
		case one.GetHidden():
			open.Withheld++
		default:
			open.Findings = append(open.Findings, &agentv1.ReadinessFinding{ServiceId: one.GetServiceId(), Release: one.GetRelease(), Namespace: one.GetNamespace(), Message: judged.GetMessage()})
		}
	}
	out := checkOf(addons, open, a.readable)
	out.Addons = shown
	switch {
	case verdicts[incompatible] > 0:
		out.State = failed
	case out.GetState() == failed: // by what nothing is known about, or what did not fit
		out.State = unknown
	}
	if n := c.GetUnattributed(); n > 0 {
		out.Message = joined(out.GetMessage(), fmt.Sprintf("%d objects of the cluster as a whole (such as CustomResourceDefinitions) belong to nothing with a version, and are not compared", n))
	}
	return out, nil
}

// others is the check of the charts of other releases, nil if the agent makes none. Whoever may
// write a Secret in a namespace writes such a release: it warns, and does not count.
func (a addonsFor) others(c *agentv1.ReadinessCheck) *hubv1.ReadinessCheck {
	if c == nil {
		return nil
	}
	refused := &agentv1.ReadinessCheck{Examined: c.GetExamined(), Incomplete: c.GetIncomplete(), LeftOut: c.GetLeftOut()}
	for _, one := range c.GetAddons() {
		message := a.refuses(one)
		switch {
		case message == "":
		case one.GetHidden():
			refused.Withheld++
		default:
			refused.Findings = append(refused.Findings, &agentv1.ReadinessFinding{Release: one.GetRelease(), Namespace: one.GetNamespace(), Message: message})
		}
	}
	out := checkOf(charts, refused, nil)
	if out.GetState() != passed {
		out.State = warning
	}
	return out
}

// refuses is a sentence about a chart that does not take the version; empty if it does, or says
// nothing that can be read.
func (a addonsFor) refuses(one *agentv1.ReadinessAddon) string {
	wanted := one.GetKubeVersion()
	to, in, err := compared(a.to, wanted)
	if wanted == "" || err != nil || in.Check(to) {
		return ""
	}
	return fmt.Sprintf("its chart %s %s takes Kubernetes %s, and so not %s: upgrade the release first, since Helm refuses to afterwards", one.GetChart(), one.GetVersion(), wanted, a.to)
}

// unlisted is about an add-on that no matrix makes known, as it has no version that one can list.
const unlisted = "its version is %s, which no compatibility matrix can list: give its objects the label app.kubernetes.io/version with a version such as 1.14.0"

// judge compares an add-on with the version: by its chart's own constraint, and by its matrix.
func (a addonsFor) judge(one *agentv1.ReadinessAddon) (*hubv1.ReadinessAddon, error) {
	name := matrixName(one.GetChart())
	out := &hubv1.ReadinessAddon{
		Name: name, Release: one.GetRelease(), Namespace: one.GetNamespace(), Object: one.GetObject(), ChartVersion: one.GetVersion(),
		Version: versionOf(one),
	}
	says := func(verdict, format string, args ...any) (*hubv1.ReadinessAddon, error) {
		out.Verdict, out.Message = verdict, fmt.Sprintf(format, args...)
		return out, nil
	}
	if name == "" {
		return says(addonUnknown, "it has %s and names no chart and no version: give its objects the labels app.kubernetes.io/name and app.kubernetes.io/version, and declare its compatibility matrix", one.GetObject())
	}
	matrix, err := a.matrix(name)
	if err != nil {
		return nil, err
	}
	const declare = "axle clusters readiness %s --to %s --skeleton prints a manifest for axle apply -f"
	if matrix == nil {
		if refused := a.refuses(one); refused != "" {
			return says(incompatible, "%s", refused)
		}
		if !readable(out.GetVersion()) {
			return says(addonUnknown, unlisted, cmp.Or(out.GetVersion(), "(unknown)"))
		}
		return says(addonUnknown, "no compatibility matrix names the versions of Kubernetes that %s %s supports: declare one, as administrator; "+declare, name, out.GetVersion(), a.cluster, a.to)
	}
	out.ReleaseUrl, out.ReadmeUrl = matrix.GetReleaseUrl(), matrix.GetReadmeUrl()
	of := matrixOf(matrix)
	entry := of.entry(one)
	if entry == nil || !entry.supports(a.to) || a.refuses(one) != "" {
		of.upgrade(out, entry, a.now, a.to)
	}
	switch refused := a.refuses(one); {
	case one.GetLabelled() != "":
		return says(versionUnknown, "its release names the chart %s %s, and its objects in the cluster have the label %s: see which one is installed", one.GetChart(), one.GetVersion(), one.GetLabelled())
	case refused != "":
		return says(incompatible, "%s", refused)
	case entry == nil && !readable(out.GetVersion()):
		return says(versionUnknown, unlisted, cmp.Or(out.GetVersion(), "(unknown)"))
	case entry == nil:
		return says(versionUnknown, "the compatibility matrix %s does not have its version %s: add it; "+declare, name, out.GetVersion(), a.cluster, a.to)
	case !entry.supports(a.to):
		return says(incompatible, "%s %s supports Kubernetes %s, and so not %s: %s", name, out.GetVersion(), strings.Join(entry.GetKube(), ", "), removals.MinorOf(a.to), upgradeText(out))
	}
	return says(compatible, "%s %s supports Kubernetes %s", name, entry.GetVersion(), removals.MinorOf(a.to))
}

// upgradeText says to which version an add-on is upgraded.
func upgradeText(out *hubv1.ReadinessAddon) string {
	if out.GetUpgradeTo() == "" {
		return "no listed version does"
	}
	return "upgrade it to " + out.GetUpgradeTo() + " first"
}

// compared reads a version of Kubernetes and a constraint. What a vendor adds to the version makes
// it no earlier one, as a suffix of Semantic Versioning does: Helm compares without it.
func compared(version, constraint string) (*semver.Version, *semver.Constraints, error) {
	if len(constraint) > maxConstraint {
		return nil, nil, errcode.New(errcode.Invalid, "it is longer than %d bytes", maxConstraint)
	}
	plain, err := removals.Version(version)
	if err != nil {
		return nil, nil, err
	}
	to := semver.New(uint64(plain.Major()), uint64(plain.Minor()), uint64(plain.Patch()), "", "")
	in, err := semver.NewConstraint(constraint)
	return to, in, err
}

// versionOf is the version of an add-on: that of what it installs, or that of its chart where the
// other one is a word, such as latest.
func versionOf(one *agentv1.ReadinessAddon) string {
	if app := one.GetAppVersion(); readable(app) || one.GetVersion() == "" {
		return app
	}
	return one.GetVersion()
}

// readable reports whether a matrix can list a version.
func readable(version string) bool {
	_, err := semver.NewVersion(version)
	return err == nil && rule.Version.Valid(version)
}

// matrices reads each compatibility matrix once.
func (a *API) matrices(ctx context.Context) func(name string) (*hubv1.CustomCompatibilityMatrixSettings, error) {
	read := map[string]*hubv1.CustomCompatibilityMatrixSettings{}
	return func(name string) (*hubv1.CustomCompatibilityMatrixSettings, error) {
		if have, known := read[name]; known {
			return have, nil
		}
		have, err := a.Matrix(ctx, name)
		read[name] = have
		return have, err
	}
}
