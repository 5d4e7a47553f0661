package generated

import (
	"context"
	"errors"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/operator/condition"
	"github.com/axle-cd/axle/operator/ownership"
	"github.com/axle-cd/axle/operator/tenancy"
)

// Config is what both controllers need. All fields are required.
type Config struct {
	// Cluster reads custom resources from the cache, and writes. Direct reads Secrets
	// from the API server.
	Cluster client.Client
	Direct  client.Reader
	Tenancy *tenancy.Tenancy
	// ClusterUID is part of the name under which an object writes.
	ClusterUID string
	// Interval is the time between two checks of an object; zero is never. Missing is
	// the wait for what is not there, Limit that of one reconcile.
	Interval       func(*v1alpha1.Reconciliation) time.Duration
	Missing, Limit time.Duration
	// Quiet is schedule.Timing.Quiet.
	Quiet   time.Duration
	Options controller.Options
	Events  events.EventRecorder
}

// writtenBy is the annotation with the object that something was made for.
const writtenBy = kinds.Axle + "/written-by"

// maker is the name under which an object of a kind writes.
func (c Config) maker(kind string, o client.Object) string {
	return c.ClusterUID + "/" + kind + "." + kinds.Deployments + "/" + o.GetNamespace() + "/" + o.GetName()
}

// rival reports whether another controller acts on an object, and when to look again.
func (c Config) rival(o client.Object) (reconcile.Result, bool) {
	name, left := ownership.Rival(o, c.Quiet)
	if left <= 0 {
		return reconcile.Result{}, false
	}
	c.Events.Eventf(o, nil, corev1.EventTypeWarning, ownership.RivalReason, "Synchronize", ownership.RivalNote, name)
	return reconcile.Result{RequeueAfter: left + jitter.Full(time.Second)}, true
}

// settle writes the status of an object after a reconcile, and says when to come back.
func (c Config) settle(ctx context.Context, before, o client.Object, s *v1alpha1.Status, every *v1alpha1.Reconciliation, err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: jitter.Full(time.Second)}, nil // its next version is on its way
	}
	s.ObservedGeneration = o.GetGeneration()
	meta.RemoveStatusCondition(&s.Conditions, condition.Supported) // of the CRD, from before it had a controller
	reason, message := condition.Synchronized, "the cluster has what the object declares"
	if err != nil {
		reason, message = condition.Error, err.Error()
		if errcode.Is(err, errcode.NotFound) {
			reason = condition.NotFound
		}
	}
	for _, name := range []string{condition.Synchronized, condition.Ready} {
		condition.Set(o, &s.Conditions, name, err == nil, reason, message)
	}
	if !equality.Semantic.DeepEqual(before, o) {
		if wrong := c.Cluster.Status().Patch(ctx, o, client.MergeFrom(before)); wrong != nil {
			return reconcile.Result{}, errors.Join(err, client.IgnoreNotFound(wrong))
		}
		if err != nil {
			c.Events.Eventf(o, nil, corev1.EventTypeWarning, reason, "Synchronize", "%s", message)
		}
	}
	switch {
	case reason == condition.NotFound:
		return reconcile.Result{RequeueAfter: jitter.Around(c.Missing, c.Missing/2)}, nil
	case err != nil && !errors.As(err, new(unrenderable)):
		return reconcile.Result{}, err
	}
	wait := c.Interval(every) // zero is never
	return reconcile.Result{RequeueAfter: wait/2 + jitter.Full(wait)}, nil
}

// protect stores a finalizer before anything is made.
func (c Config) protect(ctx context.Context, o client.Object, finalizer string) error {
	return c.finalize(ctx, o, finalizer, controllerutil.AddFinalizer)
}

// unprotect removes it.
func (c Config) unprotect(ctx context.Context, o client.Object, finalizer string) error {
	return client.IgnoreNotFound(c.finalize(ctx, o, finalizer, controllerutil.RemoveFinalizer))
}

func (c Config) finalize(ctx context.Context, o client.Object, finalizer string, change func(client.Object, string) bool) error {
	before := o.DeepCopyObject().(client.Object)
	if !change(o, finalizer) {
		return nil
	}
	return c.Cluster.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// changed reports whether an update changed what an object declares.
func changed(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || !maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
}

// requests are those for all objects of a list.
func requests(list client.ObjectList) []reconcile.Request {
	var keys []client.ObjectKey
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil // only what is no list fails
	}
	for _, item := range items {
		keys = append(keys, client.ObjectKeyFromObject(item.(client.Object)))
	}
	return tenancy.Requests(keys...)
}
