package testrun

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

const (
	// goneLimit is how long the deletion of an earlier run's object may take.
	goneLimit = 2 * time.Minute
	// drainLimit is how long to read logs after the end of a test.
	drainLimit = 10 * time.Second
	// retryMin and retryMax are the back-off between two attempts.
	retryMin = time.Second
	retryMax = time.Minute
	// maxMessage bounds a test's message.
	maxMessage = 1024
)

// verdict is the result of an attempt.
type verdict struct {
	passed  bool
	message string
}

// repeat runs one test up to its allowed number of attempts.
func (r *Runner) repeat(ctx context.Context, c *client, one *run, n int) {
	t, result := one.tests[n], one.result.GetTests()[n]
	first, state := r.stateOf(one, n)
	if ended(state) {
		return // it had ended before the agent restarted
	}
	backoff := jitter.Backoff{Min: retryMin, Max: retryMax}
	for attempt := max(1, first); ; attempt++ {
		log := &tail{scrub: one.request.Scrub}
		r.mu.Lock()
		one.tails[n] = log
		r.mu.Unlock()
		r.change(one, func(*agentv1.TestRun) {
			if result.Attempt != int32(attempt) || result.StartedAt == 0 {
				result.StartedAt = clock.Micros(r.cfg.Clock.Now())
			}
			result.State, result.Attempt, result.EndedAt, result.Message = stateRunning, int32(attempt), 0, ""
			result.Tail, result.LogBytes, result.Report = "", 0, nil
		})
		v := r.attempt(ctx, c, one, n, attempt, log)
		if ctx.Err() != nil {
			return
		}
		v.message = cut(one.request.Scrub.String(cmp.Or(v.message, log.said())), maxMessage)
		last := v.passed || attempt >= t.attempts
		r.change(one, func(*agentv1.TestRun) {
			result.Message = v.message
			log.put(result)
			if last {
				result.State, result.EndedAt = stateFailed, clock.Micros(r.cfg.Clock.Now())
				if v.passed {
					result.State = statePassed
				}
			}
		})
		if last {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-r.cfg.Clock.After(max(retryMin, backoff.Next())):
		}
	}
}

func (r *Runner) stateOf(one *run, n int) (attempt int, state string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	result := one.result.GetTests()[n]
	return int(result.GetAttempt()), result.GetState()
}

// attempt creates the object of one attempt and follows it to its end.
func (r *Runner) attempt(ctx context.Context, c *client, one *run, n, attempt int, log *tail) verdict {
	t := one.tests[n]
	made, err := r.make(ctx, c, one, t, fmt.Sprintf("%s-%d", one.request.Key, attempt))
	if err != nil {
		return verdict{message: explain(err)}
	}
	path, err := c.pathOf(t.object, t.namespace)
	if err != nil {
		return verdict{message: explain(err)}
	}
	limited, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	v := r.follow(limited, c, one, n, path, made, log)
	if ctx.Err() != nil {
		return v
	}
	if limited.Err() != nil {
		v = verdict{message: fmt.Sprintf("it did not end within %v and was stopped", t.limit)}
	}
	if limited.Err() != nil || v.passed && t.deletePassed || !v.passed && t.deleteFailed {
		if err := c.remove(ctx, path, made.GetUID()); err != nil {
			v.message = cmp.Or(v.message, explain(err))
		}
	}
	return v
}

// explain turns an error of the API server into a message for people.
func explain(err error) string {
	if apierrors.IsForbidden(err) {
		return "the account may not run the test: " + err.Error()
	}
	return errcode.Message(err)
}

// make creates an object unless it exists for this very attempt. The object of an
// earlier attempt is deleted first. An object that is not a test of ours stays, and
// is an error.
func (r *Runner) make(ctx context.Context, c *client, one *run, t test, name string) (*unstructured.Unstructured, error) {
	path, err := c.pathOf(t.object, t.namespace)
	if err != nil {
		return nil, err
	}
	backoff := jitter.Backoff{Min: 200 * time.Millisecond, Max: 2 * time.Second}
	until := r.cfg.Clock.Now().Add(goneLimit)
	for {
		there, err := c.get(ctx, path)
		switch {
		case err != nil && !passing(err):
			return nil, err
		case err == nil && there == nil:
			made, err := c.create(ctx, path, r.dressed(one, t, name))
			if err == nil {
				r.note(one, path, made.GetUID())
				return made, nil
			}
			if !apierrors.IsAlreadyExists(err) && !passing(err) {
				return nil, err
			}
		case err == nil && there.GetAnnotations()[kubeobj.ServiceAnnotation] != one.request.Service:
			return nil, errcode.New(errcode.Conflict, "%s %s/%s already exists and is not a test of this service: rename the test, or delete that object", t.kind, t.namespace, t.name)
		case err == nil && there.GetAnnotations()[runAnnotation] == name && there.GetDeletionTimestamp() == nil:
			r.note(one, path, there.GetUID())
			return there, nil
		case err == nil && there.GetDeletionTimestamp() == nil:
			if err := c.remove(ctx, path, there.GetUID()); err != nil && !passing(err) {
				return nil, err
			}
		}
		if r.cfg.Clock.Now().After(until) {
			return nil, errcode.New(errcode.Unavailable, "%s %s/%s of an earlier run is not being deleted: check its finalizers", t.kind, t.namespace, t.name)
		}
		if err := jitter.Wait(ctx, max(backoff.Next(), 50*time.Millisecond)); err != nil {
			return nil, err
		}
	}
}

// passing reports whether the same request may succeed shortly after.
func passing(err error) bool {
	status, said := err.(apierrors.APIStatus)
	return !said || status.Status().Code >= 500 || apierrors.IsTooManyRequests(err) || apierrors.IsConflict(err)
}

// note records an object in the cluster.
func (r *Runner) note(one *run, path string, uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one.made[path] = string(uid)
	r.storeLocked()
}

// dressed is the object to create: with its marks and a deadline.
func (r *Runner) dressed(one *run, t test, name string) *unstructured.Unstructured {
	object := t.object.DeepCopy()
	object.SetNamespace(t.namespace)
	set := func(get func() map[string]string, put func(map[string]string), key, value string) {
		all := get()
		if all == nil {
			all = map[string]string{}
		}
		all[key] = value
		put(all)
	}
	set(object.GetAnnotations, object.SetAnnotations, kubeobj.ServiceAnnotation, one.request.Service)
	set(object.GetAnnotations, object.SetAnnotations, runAnnotation, name)
	set(object.GetLabels, object.SetLabels, serviceLabel, one.request.Service)
	if _, has, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "activeDeadlineSeconds"); !has && runs(object) {
		_ = unstructured.SetNestedField(object.Object, int64(t.limit/time.Second), "spec", "activeDeadlineSeconds")
	}
	return object
}

// follow watches a Job or Pod until it has ended, and reads its logs.
func (r *Runner) follow(ctx context.Context, c *client, one *run, n int, path string, made *unstructured.Unstructured, log *tail) verdict {
	logs := newLogs(c, log)
	defer logs.stop()
	var pods []corev1.Pod
	for {
		object, err := c.get(ctx, path)
		switch {
		case ctx.Err() != nil:
			return verdict{}
		case err == nil && (object == nil || object.GetUID() != made.GetUID()):
			return verdict{message: "it was deleted while it ran"}
		case err != nil && !passing(err):
			return verdict{message: explain(err)}
		}
		if err == nil {
			var found []corev1.Pod
			if found, err = podsOf(ctx, c, object); err == nil {
				pods = found
				logs.follow(ctx, pods)
				r.say(one, n, waiting(pods))
			}
		}
		if err == nil {
			if v, done := verdictOf(object, pods); done {
				logs.wait(drainLimit)
				for _, message := range terminations(pods) {
					log.ended(message)
				}
				return v
			}
		}
		r.unsentTail(one, log)
		select {
		case <-ctx.Done():
			return verdict{}
		case <-r.cfg.Clock.After(look):
		}
	}
}

// say sets the message of a running test.
func (r *Runner) say(one *run, n int, message string) {
	r.change(one, func(result *agentv1.TestRun) {
		result.GetTests()[n].Message = cut(one.request.Scrub.String(message), maxMessage)
	})
}

// unsentTail makes the reporter check a log that has grown.
func (r *Runner) unsentTail(one *run, log *tail) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one.unsent = true
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
