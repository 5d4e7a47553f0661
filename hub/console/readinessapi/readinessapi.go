// Package readinessapi answers Clusters.Readiness: it asks a cluster's agent what speaks
// against a version of Kubernetes, and translates the report for the caller.
//
// It looks at no cluster itself: agent/readiness does, and already leaves out what the caller
// may not list there, or marks it. Here the findings of services that the caller may not read
// are left out, and add-ons are compared with the version. hub/console calls it.
//
// Invariants: a finding that is not shown still counts, so that no caller takes a cluster for
// ready that is not; a check that the agent does not answer is Unknown.
package readinessapi

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/liveapi"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/internal/removals"
)

// The results, and the states of checks.
const (
	ready    = "Ready"
	notReady = "NotReady"
	unknown  = "Unknown"

	passed  = "Passed"
	failed  = "Failed"
	warning = "Warning"
)

const (
	// path names the question in records; no API server serves it.
	path = "/axle/readiness"
	// maxReport bounds the text of an agent's report, maxText one text in it.
	maxReport = 4 << 20
	maxText   = 2000
	// servicesPage is how many services are read at once for their names.
	servicesPage = 500
)

// names are the checks that each report has, in this order.
var names = []string{"version", "applied", "requested", "releases", "budgets", "nodes"}

// API answers the call.
type API struct {
	// Live reaches the clusters.
	Live *liveapi.API
	// Services lists services, and Readable is what the caller may read.
	Services func(ctx context.Context, f fleet.ServiceFilter) (fleet.ServicePage, error)
	Readable func(ctx context.Context) (identity.Reach, error)
	// Matrix returns the compatibility matrix of a name, nil for none.
	Matrix func(ctx context.Context, name string) (*hubv1.CustomCompatibilityMatrixSettings, error)
}

// Readiness implements hubv1connect.ClustersHandler.
func (a *API) Readiness(ctx context.Context, r *connect.Request[hubv1.ReadinessRequest]) (*connect.Response[hubv1.ReadinessResponse], error) {
	if _, err := removals.Version(r.Msg.GetTo()); err != nil {
		return nil, err
	}
	cluster, err := a.Live.Cluster(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	answer, err := a.Live.Clusters.Do(ctx, liveapi.Query{
		Caller: a.Live.Caller(ctx), Source: address.Host(r.Peer().Addr), Handle: cluster.Handle, Path: path, Readiness: r.Msg.GetTo(),
	})
	if err != nil {
		return nil, err
	}
	report := &agentv1.ReadinessReport{}
	if len(answer.Text) > maxReport {
		return nil, errcode.New(errcode.Unprocessable, "the report of the agent is larger than %d MiB", maxReport>>20)
	}
	if err := bounded.Proto(answer.Text, report, bounded.Most(maxReport)); err != nil {
		return nil, errcode.New(errcode.Unavailable, "the agent's answer is not a report: %w", err)
	}
	readable, err := a.readable(ctx, cluster.Name, report)
	if err != nil {
		return nil, err
	}
	out, err := shown(report, addonsFor{cluster: cluster.Name, now: report.GetKubernetesVersion(), to: r.Msg.GetTo(), readable: readable, matrix: a.matrices(ctx)})
	if err != nil {
		return nil, err
	}
	out.Cluster, out.To = cluster.Name, r.Msg.GetTo()
	plain.Message(out, func(_, text string) string { return plain.Line(text, maxText) })
	return connect.NewResponse(out), nil
}

// readable returns the names of the services in a report that the caller may read, by id.
func (a *API) readable(ctx context.Context, cluster string, report *agentv1.ReadinessReport) (map[string]string, error) {
	wanted, found := map[string]bool{}, map[string]string{}
	for _, c := range report.GetChecks() {
		for _, f := range c.GetFindings() {
			if f.GetServiceId() != "" {
				wanted[f.GetServiceId()] = true
			}
		}
		for _, one := range c.GetAddons() {
			if one.GetServiceId() != "" {
				wanted[one.GetServiceId()] = true
			}
		}
	}
	reach, err := a.Readable(ctx)
	if err != nil {
		return nil, err
	}
	next := fleet.ServiceFilter{Cluster: cluster, PageSize: servicesPage, Reach: &reach}
	for len(found) < len(wanted) {
		page, err := a.Services(ctx, next)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Services {
			if wanted[s.ID] {
				found[s.ID] = s.Name
			}
		}
		if next.PageToken = page.NextPageToken; next.PageToken == "" {
			break
		}
	}
	return found, nil
}

// shown is a report as the caller sees it.
func shown(report *agentv1.ReadinessReport, of addonsFor) (*hubv1.ReadinessResponse, error) {
	by := map[string]*agentv1.ReadinessCheck{}
	for _, c := range report.GetChecks() {
		by[c.GetName()] = c
	}
	out := &hubv1.ReadinessResponse{KubernetesVersion: report.GetKubernetesVersion(), Result: ready}
	for _, name := range names {
		out.Checks = append(out.Checks, checkOf(name, by[name], of.readable))
	}
	added, err := of.check(by[addons])
	if err != nil {
		return nil, err
	}
	out.Checks = append(out.Checks, added)
	if others := of.others(by[charts]); others != nil {
		out.Checks = append(out.Checks, others)
	}
	for _, c := range out.GetChecks() {
		switch {
		case c.GetState() == failed:
			out.Result = notReady
		case c.GetState() == unknown && out.GetResult() == ready:
			out.Result = unknown
		}
	}
	return out, nil
}

// checkOf is one check; nil is one that the agent did not make.
func checkOf(name string, c *agentv1.ReadinessCheck, readable map[string]string) *hubv1.ReadinessCheck {
	if c == nil {
		return &hubv1.ReadinessCheck{Name: name, State: unknown, Message: "the agent of this cluster does not check it; upgrade the agent"}
	}
	out := &hubv1.ReadinessCheck{Name: name, State: passed, Examined: c.GetExamined(), Message: c.GetIncomplete()}
	others := int32(0)
	for _, f := range c.GetFindings() {
		service, may := readable[f.GetServiceId()]
		if f.GetServiceId() != "" && !may {
			others++
			continue
		}
		out.Findings = append(out.Findings, &hubv1.ReadinessFinding{
			Service: service, Release: f.GetRelease(), Group: f.GetGroup(), Version: f.GetVersion(), Kind: f.GetKind(), Namespace: f.GetNamespace(), Name: f.GetName(),
			RemovedIn: f.GetRemovedIn(), Replacement: f.GetReplacement(), Message: f.GetMessage(), File: f.GetFile(),
		})
	}
	for _, hidden := range []struct {
		n    int32
		text string
	}{
		{others, "not shown: %d about services that you may not read"},
		{c.GetWithheld(), "not shown: %d about objects that you may not list in this cluster"},
		{c.GetLeftOut(), "not shown: %d more that did not fit"},
	} {
		if hidden.n > 0 {
			out.NotShown += hidden.n
			out.Message = joined(out.GetMessage(), fmt.Sprintf(hidden.text, hidden.n))
		}
	}
	switch {
	case len(out.GetFindings()) > 0 || out.GetNotShown() > 0:
		out.State = failed
	case c.GetIncomplete() != "":
		out.State = unknown
	}
	return out
}

func joined(text, more string) string {
	if text == "" {
		return more
	}
	return text + "; " + more
}
