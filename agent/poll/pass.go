package poll

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/generated"
	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/agent/poll/content"
	"github.com/axle-cd/axle/agent/poll/report"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/agent/testrun"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/manifest"
)

// partialRetry is when a pass with incomplete discovery is repeated.
const partialRetry = time.Minute

// steps are the steps of a pass, in their order; docs/flows/poll.md describes
// them. A step that returns an outcome ends the pass, and the applied state stays.
// Without a permit no step after "permit" runs.
var steps = []struct {
	name string
	do   func(*passing, context.Context) *outcome
}{
	{"permit", (*passing).allowed},
	{"content", (*passing).named},
	{"cluster", (*passing).discover},
	{"change", (*passing).compare},
	{"dependencies", (*passing).wait},
	{"confirm", (*passing).confirm},
	{"files", (*passing).fetch},
	{"render", (*passing).render},
	{"on demand", (*passing).serve},
	{"hold", (*passing).hold},
	{"apply", (*passing).apply},
}

// passing is a running pass: what its steps found so far.
type passing struct {
	loop     *Loop
	job      *job
	now      change.Inputs
	permit   tenancy.Permit
	caps     render.Capabilities
	partial  string // why discovery is not whole
	cause    change.Cause
	settings string
	trees    content.Trees // empty when nothing is rendered
	objects  []*unstructured.Unstructured
	warnings []string
	service  apply.Service
	tests    []*unstructured.Unstructured
	synced   []*unstructured.Unstructured // the objects that are not tests
	words    string                       // of a diff
	again    bool                         // a request could not be done yet
}

// pass takes one service through the steps.
func (l *Loop) pass(ctx context.Context, j *job) outcome {
	p := &passing{loop: l, job: j, now: inputsOf(j.want, j.spec, l.config.Render.RendererVersion())}
	defer func() { p.trees.Release() }()
	for _, step := range steps {
		if out := step.do(p, ctx); out != nil {
			out.step = step.name
			return *out
		}
	}
	return outcome{inputs: p.now} // the last step ends every pass
}

// fail ends a pass with an error. Without one the next step follows.
func (p *passing) fail(source string, err error) *outcome {
	if err == nil {
		return nil
	}
	return &outcome{inputs: p.now, trouble: &report.Trouble{Source: source, Err: err}}
}

// allowed finds out which account the service acts as, in which namespaces and on
// which kinds.
func (p *passing) allowed(context.Context) *outcome {
	if p.job.spec == nil || !p.job.fits {
		return p.fail(report.SourceAgent, errcode.New(errcode.Unavailable, "the hub has not sent this service's settings yet"))
	}
	var err error
	if p.permit, err = p.loop.config.Gate.Permit(tenancy.FromSpec(p.job.spec)); err != nil {
		return &outcome{inputs: p.now, trouble: &report.Trouble{Source: report.SourceAgent, Err: err, Refused: true}}
	}
	p.settings = content.Settings(p.job.spec)
	return nil
}

// named stops a service whose content the hub has not produced.
func (p *passing) named(context.Context) *outcome {
	if p.now.TarballDigest == "" {
		return p.fail(report.SourceSource, errNoContent)
	}
	return nil
}

// discover reads what the cluster serves.
func (p *passing) discover(ctx context.Context) *outcome {
	var err error
	if p.caps, p.partial, err = p.loop.config.Cluster.Capabilities(ctx); err != nil {
		return p.fail(report.SourceAgent, errcode.New(errcode.Unavailable, "cannot read from the cluster's API server: %w", err))
	}
	return nil
}

// compare decides whether the service changed.
func (p *passing) compare(ctx context.Context) *outcome {
	var err error
	p.cause, err = p.loop.changed(ctx, p.permit, p.job, &p.now, p.caps)
	switch {
	case err != nil:
		return p.fail(report.SourceRender, err)
	case p.cause == change.Unchanged && p.job.objects == nil && !p.job.claim:
		return &outcome{skipped: true, settled: true}
	}
	return nil
}

// wait stops a service whose dependencies are not there.
func (p *passing) wait(context.Context) *outcome {
	if p.job.gate != "" && !p.job.onDemand {
		return &outcome{inputs: p.now, gate: p.job.gate}
	}
	return nil
}

// confirm answers a person's sync request when nothing else is new.
func (p *passing) confirm(context.Context) *outcome {
	if p.cause != change.NewSpec || p.partial != "" || p.settings != p.job.settings || p.job.claim {
		return nil
	}
	if out, ok := p.loop.confirm(p.job, p.now); ok {
		return &out
	}
	return nil
}

// fetch brings the files onto the disk, unless the objects that were rendered last
// are still right.
func (p *passing) fetch(ctx context.Context) *outcome {
	j := p.job
	p.objects, p.warnings = j.objects.Open(), j.warnings
	if p.objects != nil && change.Of(&j.inputs, p.now) == change.Unchanged {
		p.now = j.inputs
		return nil
	}
	p.loop.config.Log.Info("rendering a service", logkey.Service, j.want.GetName(), logkey.Reason, string(p.cause), logkey.Revision, j.spec.GetDisplay().GetSourceRevision())
	var err error
	p.trees, err = content.Fetch(ctx, p.loop.config.Cache, p.loop.config.Hub.Tarball, j.id, j.want)
	switch errcode.Of(err) {
	case errcode.NotFound, errcode.Unprocessable:
		return p.fail(report.SourceSource, err)
	}
	return p.fail(report.SourceAgent, err)
}

// render renders the objects, and records in now what the result depended on.
func (p *passing) render(ctx context.Context) *outcome {
	if len(p.trees) == 0 {
		return nil
	}
	return p.fail(report.SourceRender, p.rendered(ctx))
}

// serve does what somebody requested besides the sync: a diff, or a sync of selected
// objects.
func (p *passing) serve(ctx context.Context) *outcome {
	l, j := p.loop, p.job
	s := apply.FromSpec(j.spec, p.now.TarballDigest)
	s.Revision, s.Settings, s.Seen = content.Revision(j.spec, p.now), p.settings, j.seen
	if len(p.now.Asked) == 0 && len(p.now.Reads) == 0 {
		// No template asked for an API or an object, so that nothing can be missing.
		p.partial = ""
	}
	s.Partial, s.LeftOut = cmp.Or(j.deletes, p.partial), manifest.PartsLeftOut(p.warnings)
	s.Unsettled = func() []apply.Pending { return l.unsettled(j.id) }
	p.service = s
	p.tests, p.synced = testrun.Split(p.objects)
	p.words, p.again = l.serveOnDemand(ctx, p.permit, j, s, p.synced)
	return nil
}

// hold records what a service renders without applying it, because it is paused,
// waits or is in a dry run.
func (p *passing) hold(ctx context.Context) *outcome {
	j, dry := p.job, p.job.spec.GetDryRun()
	if !j.held && j.gate == "" && !dry {
		return nil
	}
	out := &outcome{claimed: true, skipped: j.held, dry: !j.held && dry, inputs: p.now, warnings: p.warnings, again: p.again, words: p.words}
	if !j.held && !dry {
		out.gate = j.gate
	}
	if err := p.loop.config.Claims.Claim(ctx, p.permit, p.service, p.synced, j.idleBecause()); err != nil {
		*out = outcome{trouble: &report.Trouble{Source: report.SourceApply, Err: err}, inputs: p.now, warnings: p.warnings, again: p.again, words: p.words}
	}
	return out
}

// apply writes the objects that differ. It ends the pass.
func (p *passing) apply(ctx context.Context) *outcome {
	result, err := p.loop.config.Apply.Pass(ctx, p.permit, p.service, p.synced)
	if err != nil {
		return p.fail(report.SourceApply, err)
	}
	if p.partial != "" && result.Again == 0 {
		result.Again = partialRetry // a prune may wait for the rest
	}
	if len(p.tests) > 0 {
		p.settings = "" // a requested sync runs them again
	}
	return &outcome{inputs: p.now, permit: p.permit, settings: p.settings, tests: p.tests, warnings: p.warnings, result: &result, again: p.again,
		objects: p.job.objects.Keep(p.objects, result.Again > 0 || result.Sync == "Failed")}
}

// confirm handles a person's sync request when nothing else is new. Files and
// settings would render to the same objects, so that checking their watched state is
// enough. If that is not conclusive, a complete pass follows.
func (l *Loop) confirm(j *job, now change.Inputs) (outcome, bool) {
	same := *j.done
	same.SpecDigest = now.SpecDigest
	if j.objects != nil || j.settings == "" || j.held || j.onDemand || j.spec.GetDryRun() || j.deletes != "" || len(same.Reads) > 0 || change.Of(&same, now) != change.Unchanged {
		return outcome{}, false
	}
	service := apply.FromSpec(j.spec, now.TarballDigest)
	service.Revision, service.Settings = content.Revision(j.spec, now), j.settings
	result, ok := l.config.Apply.Confirm(service)
	if !ok {
		return outcome{}, false
	}
	return outcome{inputs: same, settings: j.settings, warnings: j.warnings, result: &result, confirmed: true}, true
}

var errNoContent = errcode.New(errcode.Unprocessable, "the hub has not produced this service's content yet; the reason is in its source's errors")

// changed decides whether the service changed, with what only the cluster can tell.
func (l *Loop) changed(ctx context.Context, permit tenancy.Permit, j *job, now *change.Inputs, caps render.Capabilities) (change.Cause, error) {
	now.Kubernetes = caps.KubernetesVersion
	if j.done != nil {
		now.Asked, now.APIs = j.done.Asked, change.APIsOf(j.done.Asked, caps.APIVersions)
	}
	if j.done != nil && j.readReads {
		reads := make([]render.Read, 0, len(j.done.Reads))
		for _, r := range j.done.Reads {
			object, err := l.config.Cluster.Lookup(ctx, permit, r.Key)
			if err != nil {
				return change.Unchanged, fmt.Errorf("look up %s %s again: %w", r.Key.Kind, r.Key.Name, err)
			}
			reads = append(reads, render.Read{Key: r.Key, State: render.StateOf(object)})
		}
		now.Reads = reads
	} else if j.done != nil {
		now.Reads = j.done.Reads
	}
	cause := change.Of(j.done, *now)
	if cause == change.Unchanged && (j.cause == change.DeletesFreed || j.cause == change.Repaired || j.cause == change.Asked) {
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

// rendered is render, with a plain error.
func (p *passing) rendered(ctx context.Context) error {
	l, j := p.loop, p.job
	r, err := render.FromSpec(j.spec, p.trees[0].Dir)
	if err != nil {
		return err
	}
	r.Parts = p.trees.RenderParts(j.want)
	r.Capabilities, r.Lookup, r.Tests = p.caps, Lookups{l.config.Cluster, p.permit}, l.config.Tests != nil
	result, err := l.config.Render.Render(ctx, r)
	if err != nil {
		return err
	}
	objects, err := result.Decoded()
	if err != nil {
		return err
	}
	j.objects = nil
	service := generated.Service{ID: j.id, Namespace: j.spec.GetNamespace(), Revision: content.Revision(j.spec, p.now)}
	if err := generated.Keep(ctx, r.Lookup, service, result.Objects, objects); err != nil {
		return err
	}
	p.objects, p.warnings = objects, result.Warnings
	p.now.Asked, p.now.APIs = result.APIVersionsAsked, change.APIsOf(result.APIVersionsAsked, p.caps.APIVersions)
	p.now.Reads = result.Reads
	return nil
}

// wrote reports whether a pass wrote everything that was rendered. Otherwise the
// revision is not reported as applied.
func wrote(r *apply.Result) bool {
	p := r.Phase
	return !r.Partly && (p == apply.PhaseApplied || p == apply.PhasePruneHeld || p == apply.PhaseWaiting || p == apply.PhaseFailed)
}
