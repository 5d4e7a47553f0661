package poll

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/difference"
	"github.com/axle-cd/axle/agent/poll/report"
	"github.com/axle-cd/axle/agent/preview"
	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// OnDemand handles people's requests other than full syncs; *apply.Engine implements
// it.
type OnDemand interface {
	// Diff reports what an apply would change, and changes nothing.
	Diff(ctx context.Context, permit tenancy.Permit, service apply.Service, objects []*unstructured.Unstructured) (difference.Comparison, error)
	// Select applies the objects that service.Only names.
	Select(ctx context.Context, permit tenancy.Permit, service apply.Service, objects []*unstructured.Unstructured) (apply.Result, error)
}

// Diffs sends to the hub what an apply would change.
type Diffs interface {
	ReportDiff(ctx context.Context, r *agentv1.ReportDiffRequest) error
}

const (
	syncDryRun   = report.SyncHeld
	reasonDryRun = "DryRun"
)

// requested reports whether a person has a request for a service that is otherwise held.
func (s *service) requested() bool {
	if s.want == nil || s.spec == nil || !s.specFits() || s.want.GetTarballDigest() == "" && len(s.want.GetParts()) == 0 {
		return false
	}
	return s.claiming || s.spec.GetDiffRequest() > s.diffed || len(s.spec.GetSyncResources()) > 0 && s.spec.GetSyncRequest() > s.selected
}

// serveOnDemand handles people's requests to a service other than a full sync. again says
// that something could not be done yet.
func (l *Loop) serveOnDemand(ctx context.Context, permit tenancy.Permit, j *job, service apply.Service, objects []*unstructured.Unstructured) (words string, again bool) {
	if l.config.OnDemand == nil {
		return "", false
	}
	if l.config.Diffs != nil && (!preview.Only(j.spec, j.diffed) || j.spec.GetDryRun()) {
		var err error
		if j.spec.GetSpecDigest() != j.want.GetSpecDigest() {
			return "", true // these are not the files of the spec yet: their list is on its way
		}
		if words, err = l.diff(ctx, permit, j, service, objects); err != nil {
			l.config.Log.Warn("cannot report what an apply would change", logkey.Service, j.want.GetName(), logkey.Error, scrubbed(j.spec, errcode.Message(err)))
			again = true
		} else {
			l.mu.Lock()
			if s := l.services[j.id]; s != nil {
				s.diffed = max(s.diffed, j.spec.GetDiffRequest())
			}
			l.mu.Unlock()
		}
	}
	if len(service.Only) > 0 && !j.spec.GetDryRun() {
		again = l.selectSome(ctx, permit, j, service, objects) || again
	}
	return words, again
}

// selectSome applies single objects, once per request.
func (l *Loop) selectSome(ctx context.Context, permit tenancy.Permit, j *job, service apply.Service, objects []*unstructured.Unstructured) (again bool) {
	if state, _ := l.config.Inventory.State(j.id); state.SyncRequest < service.SyncRequest {
		result, err := l.config.OnDemand.Select(ctx, permit, service, objects)
		if err != nil || result.Again > 0 {
			return true
		}
		l.mu.Lock()
		if s := l.services[j.id]; s != nil {
			s.result = &result
		}
		l.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.services[j.id]; s != nil {
		s.selected = max(s.selected, service.SyncRequest)
	}
	return false
}

// diff computes and sends what an apply would change, and returns it as a sentence.
func (l *Loop) diff(ctx context.Context, permit tenancy.Permit, j *job, service apply.Service, objects []*unstructured.Unstructured) (string, error) {
	report := &agentv1.ReportDiffRequest{
		BootId: l.config.BootID, ServiceId: j.id, Request: j.spec.GetDiffRequest(), Revision: j.spec.GetDisplay().GetRevision(),
		SourceRevision: j.spec.GetDisplay().GetSourceRevision(), TarballDigest: service.TarballDigest, SpecDigest: service.SpecDigest,
		MadeAt: clock.Micros(l.config.Clock.Now()),
	}
	found, err := l.config.OnDemand.Diff(ctx, permit, service, objects)
	if errcode.Is(err, errcode.Unavailable) {
		return "", err
	}
	if err != nil {
		report.Error = service.Scrub.String(errcode.Message(err))
	} else if report.Differences, err = difference.Pack(found); err != nil {
		return "", err
	}
	return difference.Sentence(found, report.GetError()), l.config.Diffs.ReportDiff(ctx, report)
}
