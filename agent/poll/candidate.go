package poll

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/poll/content"
	"github.com/axle-cd/axle/agent/poll/report"
	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// CandidateRender is the result of rendering everything with another version of the
// agent.
type CandidateRender struct {
	// Services counts rendered services, Compared those compared with the applied
	// objects, Different those that differ.
	Services, Compared, Different int
	// First names one that differs, and how.
	First string
}

// Comparer compares objects with what was last applied; *apply.Engine implements it.
type Comparer interface {
	// Differs names an object that a pass would write or delete, empty if there is
	// none.
	Differs(ctx context.Context, permit tenancy.Permit, service apply.Service, objects []*unstructured.Unstructured) (string, error)
}

// RenderCandidate polls, reads the inventories and renders every service. It writes nothing to
// the cluster or the hub. A service is compared if its last pass wrote everything for
// exactly the files and settings in the list; one that is changing says nothing about
// this agent. skip leaves a service out. Run must not have been called.
func (l *Loop) RenderCandidate(ctx context.Context, compare Comparer, skip func(*agentv1.ServiceSpec) bool) (CandidateRender, error) {
	answer, err := l.config.Hub.Desired(ctx, "")
	if err != nil {
		return CandidateRender{}, err
	}
	if answer.List == nil {
		return CandidateRender{}, errcode.New(errcode.Unavailable, "the hub gave no list")
	}
	if err := l.config.Apply.Load(ctx); err != nil {
		return CandidateRender{}, err
	}
	l.takeList(answer)
	l.fetchSpecs(ctx)
	var found CandidateRender
	for _, j := range l.candidateJobs() {
		if skip(j.spec) {
			continue
		}
		if err := l.compareCandidate(ctx, j, compare, &found); err != nil {
			return found, fmt.Errorf("service %s: %w", j.want.GetName(), err)
		}
	}
	return found, nil
}

// candidateJobs returns the services that are not held.
func (l *Loop) candidateJobs() []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	var jobs []*job
	for _, s := range l.services {
		if s.want == nil || s.held || s.spec == nil || !s.specFits() {
			continue
		}
		jobs = append(jobs, &job{id: s.Id, want: s.want, spec: s.spec, fits: true})
	}
	return jobs
}

// compareCandidate renders one service and compares it. Its errors are transient.
func (l *Loop) compareCandidate(ctx context.Context, j *job, compare Comparer, found *CandidateRender) error {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	found.Services++
	now := inputsOf(j.want, j.spec, l.config.Render.RendererVersion())
	state, applied := l.config.Inventory.State(j.id)
	if !applied || state.TarballDigest == "" || state.TarballDigest != now.TarballDigest ||
		state.SpecDigest != now.SpecDigest && (state.Settings == "" || state.Settings != content.Settings(j.spec)) {
		return nil
	}
	permit, err := l.config.Gate.Permit(tenancy.FromSpec(j.spec))
	if err != nil {
		return nil // it is refused for every agent version
	}
	caps, partial, err := l.config.Cluster.Capabilities(ctx)
	if err != nil {
		return err
	}
	if partial != "" {
		return errcode.New(errcode.Unavailable, "%s", partial)
	}
	p := &passing{loop: l, job: j, now: now, permit: permit, caps: caps}
	if p.trees, err = content.Fetch(ctx, l.config.Cache, l.config.Hub.Tarball, j.id, j.want); err != nil {
		return err
	}
	defer p.trees.Release()
	found.Compared++
	first := ""
	if err := p.rendered(ctx); err != nil {
		// These same files were rendered before, and applied.
		first = errcode.Message(err)
	} else if first, err = compare.Differs(ctx, permit, apply.FromSpec(j.spec, now.TarballDigest), p.objects); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if first != "" {
		found.Different++
		l.config.Log.Warn("a service renders differently from what is applied", logkey.Service, j.want.GetName(), logkey.Reason, first)
		if found.First == "" {
			found.First = fmt.Sprintf("%s (%s)", j.want.GetName(), apply.FromSpec(j.spec, "").Scrub.String(first))
		}
	}
	return nil
}

// Settled returns nil once the hub was polled since the start, the inventories were
// read and every service had a pass, with any result; otherwise it says what is
// missing.
func (l *Loop) Settled() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.status.Err != nil:
		return l.status.Err
	case l.status.PolledAt.IsZero():
		return errcode.New(errcode.Unavailable, "the hub has not been polled yet")
	case !l.loaded:
		return errcode.New(errcode.Unavailable, "the inventories have not been read yet")
	case l.status.Duplicate:
		return errcode.New(errcode.Conflict, "the hub reports that another agent uses this identity")
	}
	for _, s := range l.services {
		switch {
		case s.want == nil || s.held:
		case s.trouble != nil && s.trouble.Source == report.SourceAgent:
			return fmt.Errorf("service %s: %w", s.name, s.trouble.Err)
		case !s.known:
			return errcode.New(errcode.Unavailable, "service %s has not had a pass yet", s.name)
		}
	}
	return nil
}

// PolledSince reports whether a poll was answered after a time.
func (l *Loop) PolledSince(at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status.PolledAt.After(at)
}
