package poll

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/generated"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/agent/testrun"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/manifest"
)

// partialRetry is when a pass with incomplete discovery is repeated.
const partialRetry = time.Minute

// The values of StatusError.source.
const (
	sourceSource = "source"
	sourceRender = "render"
	sourceApply  = "apply"
	sourceAgent  = "agent"
	sourceTests  = "tests"
)

// pass takes one service through the steps: specs, permit, dependencies, change,
// tree, render, apply. A step either continues or says why it does not; then the
// applied state stays. Nothing is done for a service without a permit.
func (l *Loop) pass(ctx context.Context, j *job) outcome {
	now := inputsOf(j.want, j.spec, l.Render.RendererVersion())
	fail := func(source string, err error) outcome {
		return outcome{inputs: now, trouble: &trouble{source: source, err: err}}
	}
	permit, err := l.Gate.Permit(tenancy.FromSpec(j.spec))
	switch {
	case j.spec == nil || !j.fits:
		return fail(sourceAgent, errcode.New(errcode.Unavailable, "the hub has not sent this service's settings yet"))
	case err != nil:
		return outcome{inputs: now, trouble: &trouble{source: sourceAgent, err: err, refused: true}}
	case now.TarballDigest == "":
		return fail(sourceSource, errNoContent)
	}
	caps, partial, err := l.Cluster.Capabilities(ctx)
	if err != nil {
		return fail(sourceAgent, errcode.New(errcode.Unavailable, "cannot read from the cluster's API server: %w", err))
	}
	cause, err := l.changed(ctx, permit, j, &now, caps)
	switch {
	case err != nil:
		return fail(sourceRender, err)
	case cause == Unchanged && j.objects == nil && !j.claim:
		return outcome{skipped: true, settled: true}
	case j.gate != "" && !j.errand:
		return outcome{inputs: now, gate: j.gate}
	}
	settings := settingsOf(j.spec)
	if cause == NewSpec && partial == "" && settings == j.settings && !j.claim {
		if out, ok := l.confirm(j, now); ok {
			return out
		}
	}
	objects, warnings := j.objects.Open(), j.warnings
	if objects == nil || Changed(&j.inputs, now) != Unchanged {
		l.Log.Info("rendering a service", logkey.Service, j.want.GetName(), logkey.Reason, string(cause), logkey.Revision, j.spec.GetDisplay().GetSourceRevision())
		trees, source, err := l.trees(ctx, j)
		if err != nil {
			return fail(source, err)
		}
		defer trees.release()
		if objects, warnings, err = l.render(ctx, permit, j, trees, caps, &now); err != nil {
			return fail(sourceRender, err)
		}
	} else {
		now = j.inputs
	}
	service := apply.FromSpec(j.spec, now.TarballDigest)
	service.Revision, service.Settings, service.Seen = revisionOf(j.spec, now), settings, j.seen
	service.Partial, service.LeftOut = cmp.Or(j.deletes, partial), manifest.PartsLeftOut(warnings)
	service.Unsettled = func() []apply.Pending { return l.unsettled(j.id) }
	tests, synced := testrun.Split(objects)
	words, again := l.errands(ctx, permit, j, service, synced)
	if j.held || j.gate != "" || j.spec.GetDryRun() {
		out := l.setAside(ctx, permit, j, service, synced)
		out.inputs, out.warnings, out.again, out.words = now, warnings, again, words
		return out
	}
	result, err := l.Apply.Pass(ctx, permit, service, synced)
	if err != nil {
		return fail(sourceApply, err)
	}
	if partial != "" && result.Again == 0 {
		result.Again = partialRetry // a prune may wait for the rest
	}
	if len(tests) > 0 {
		settings = "" // a requested sync runs them again
	}
	return outcome{inputs: now, permit: permit, settings: settings, tests: tests, objects: j.objects.Keep(objects, result.Again > 0 || result.Sync == "Failed"), warnings: warnings, result: &result, again: again}
}

// setAside records what a service renders without applying it.
func (l *Loop) setAside(ctx context.Context, permit tenancy.Permit, j *job, service apply.Service, objects []*unstructured.Unstructured) outcome {
	out := outcome{claimed: true, skipped: j.held, dry: !j.held && j.spec.GetDryRun()}
	if !j.held && !out.dry {
		out.gate = j.gate
	}
	if err := l.Claims.Claim(ctx, permit, service, objects, j.idleBecause()); err != nil {
		return outcome{trouble: &trouble{source: sourceApply, err: err}}
	}
	return out
}

// confirm handles a person's sync request when nothing else is new. Files and
// settings would render to the same objects, so that checking their watched state is
// enough. If that is not conclusive, a complete pass follows.
func (l *Loop) confirm(j *job, now Inputs) (outcome, bool) {
	same := *j.done
	same.SpecDigest = now.SpecDigest
	if j.objects != nil || j.settings == "" || j.held || j.errand || j.spec.GetDryRun() || j.deletes != "" || len(same.Reads) > 0 || Changed(&same, now) != Unchanged {
		return outcome{}, false
	}
	service := apply.FromSpec(j.spec, now.TarballDigest)
	service.Revision, service.Settings = revisionOf(j.spec, now), j.settings
	result, ok := l.Apply.Confirm(service)
	if !ok {
		return outcome{}, false
	}
	return outcome{inputs: same, settings: j.settings, warnings: j.warnings, result: &result, confirmed: true}, true
}

var errNoContent = errcode.New(errcode.Unprocessable, "the hub has not produced this service's content yet; its source's errors say why")

// changed calls change.go, and adds what only the cluster can tell.
func (l *Loop) changed(ctx context.Context, permit tenancy.Permit, j *job, now *Inputs, caps render.Capabilities) (Cause, error) {
	now.Kubernetes = caps.KubernetesVersion
	if j.done != nil {
		now.Asked, now.APIs = j.done.Asked, APIsOf(j.done.Asked, caps.APIVersions)
	}
	if j.done != nil && j.readReads {
		reads := make([]render.Read, 0, len(j.done.Reads))
		for _, r := range j.done.Reads {
			object, err := l.Cluster.Lookup(ctx, permit, r.Key)
			if err != nil {
				return Unchanged, fmt.Errorf("look up %s %s again: %w", r.Key.Kind, r.Key.Name, err)
			}
			reads = append(reads, render.Read{Key: r.Key, State: render.StateOf(object)})
		}
		now.Reads = reads
	} else if j.done != nil {
		now.Reads = j.done.Reads
	}
	cause := Changed(j.done, *now)
	if cause == Unchanged && (j.cause == DeletesFreed || j.cause == Repaired || j.cause == Asked) {
		cause = j.cause
	}
	return cause, nil
}

// Lookups answers the lookups of one service's templates.
type Lookups struct {
	Cluster Cluster
	Permit  tenancy.Permit
}

// Lookup implements render.Lookup.
func (l Lookups) Lookup(ctx context.Context, key render.LookupKey) ([]byte, error) {
	return l.Cluster.Lookup(ctx, l.Permit, key)
}

// render renders the objects, and records in now what the outcome depended on.
func (l *Loop) render(ctx context.Context, permit tenancy.Permit, j *job, trees trees, caps render.Capabilities, now *Inputs) ([]*unstructured.Unstructured, []string, error) {
	p, err := render.FromSpec(j.spec, trees[0].Dir)
	if err != nil {
		return nil, nil, err
	}
	p.Parts = trees.renderParts(j.want)
	p.Capabilities, p.Lookup, p.Tests = caps, Lookups{l.Cluster, permit}, l.Tests != nil
	result, err := l.Render.Render(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	objects, err := result.Decoded()
	if err != nil {
		return nil, nil, err
	}
	j.objects = nil
	service := generated.Service{ID: j.id, Namespace: j.spec.GetNamespace(), Revision: revisionOf(j.spec, *now)}
	if err := generated.Keep(ctx, p.Lookup, service, result.Objects, objects); err != nil {
		return nil, nil, err
	}
	now.Renderer = result.RendererVersion
	now.Asked, now.APIs = result.APIVersionsAsked, APIsOf(result.APIVersionsAsked, caps.APIVersions)
	now.Reads = result.Reads
	return objects, result.Warnings, nil
}

// wrote reports whether a pass wrote everything that was rendered. Otherwise the
// revision is not reported as applied.
func wrote(r *apply.Result) bool {
	p := r.Phase
	return !r.Partly && (p == apply.PhaseApplied || p == apply.PhasePruneHeld || p == apply.PhaseWaiting || p == apply.PhaseFailed)
}
