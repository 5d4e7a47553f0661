package testrun

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

// work runs one run to its end.
func (r *Runner) work(ctx context.Context, one *run) {
	if !r.ready(ctx, one) {
		return
	}
	place, err := r.places.Wait(ctx, pool.Caller{Name: one.request.Project})
	if err != nil {
		return // it ends
	}
	defer place.Leave()
	client, err := newClient(one.request.Permit)
	if err == nil {
		err = r.prepare(ctx, client, one)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.finish(one, one.request.Scrub.String(errcode.Message(err)))
		return
	}
	r.change(one, func(result *agentv1.TestRun) {
		result.State, result.Message = stateRunning, ""
		if result.StartedAt == 0 {
			result.StartedAt = clock.Micros(r.cfg.Clock.Now())
		}
	})
	r.cfg.Log.Info("tests run", logkey.Service, one.request.Name, logkey.Count, len(one.tests), logkey.Revision, one.request.SourceRevision)
	for _, group := range groups(one.tests) {
		r.together(ctx, client, one, group)
		if ctx.Err() != nil {
			return
		}
	}
	r.finish(one, "")
}

// ready waits until the service is synced and healthy.
func (r *Runner) ready(ctx context.Context, one *run) bool {
	for {
		ready, why := r.cfg.Ready(one.request.Service)
		if ready {
			return ctx.Err() == nil
		}
		r.change(one, func(result *agentv1.TestRun) { result.Message = why })
		select {
		case <-ctx.Done():
			return false
		case <-r.cfg.Clock.After(look):
		}
	}
}

// prepare creates what tests need besides themselves, and checks that everything is
// where it may be.
func (r *Runner) prepare(ctx context.Context, c *client, one *run) error {
	for _, object := range one.request.Tests {
		t := readTest(object, one.request.Namespace)
		if one.request.Enforced && t.namespace != one.request.Namespace {
			return errcode.New(errcode.Forbidden, "test %s is in namespace %s; this service may only use %s", t.name, t.namespace, one.request.Namespace)
		}
		if _, err := c.pathOf(object, t.namespace); err != nil {
			return err
		}
	}
	for _, object := range one.request.Tests {
		if runs(object) {
			continue
		}
		t := readTest(object, one.request.Namespace)
		if _, err := r.make(ctx, c, one, t, one.request.Key); err != nil {
			return fmt.Errorf("%s %s/%s, which tests need: %w", t.kind, t.namespace, t.name, err)
		}
	}
	return nil
}

// together runs some tests of a run in parallel.
func (r *Runner) together(ctx context.Context, c *client, one *run, group []int) {
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, maxTogether)
	for _, n := range group {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		running.Go(func() {
			defer func() { <-slots }()
			r.repeat(ctx, c, one, n)
		})
	}
}

// finish sets the verdict over all tests; why is an error that kept them from
// running.
func (r *Runner) finish(one *run, why string) {
	state := statePassed
	r.change(one, func(result *agentv1.TestRun) {
		result.State, result.Message, result.EndedAt = statePassed, "", clock.Micros(r.cfg.Clock.Now())
		if why != "" {
			result.State, result.Message = stateFailed, why
		}
		failed := 0
		for n, t := range result.GetTests() {
			if t.GetState() == statePassed || n < len(one.tests) && one.tests[n].optional {
				continue
			}
			if failed++; failed == 1 && why == "" {
				result.State, result.Message = stateFailed, strings.TrimSuffix(nameOf(t)+": "+t.GetMessage(), ": ")
			}
		}
		if failed > 1 && why == "" {
			result.Message += fmt.Sprintf(" (and %d more)", failed-1)
		}
		state = result.GetState()
	})
	r.cfg.Log.Info("tests ended", logkey.Service, one.request.Name, logkey.Status, state)
}

// clean removes what a service's tests left.
func (r *Runner) clean(ctx context.Context, permit tenancy.Permit, one *run) {
	c, err := newClient(permit)
	if err != nil {
		r.cfg.Log.Warn("cannot remove objects of tests", logkey.Service, one.request.Name, logkey.Error, err)
		return
	}
	for path, uid := range one.made {
		if err := c.remove(ctx, path, types.UID(uid)); err != nil {
			r.cfg.Log.Warn("cannot remove an object of a test", logkey.Service, one.request.Name, logkey.Path, path, logkey.Error, err)
		}
	}
}
