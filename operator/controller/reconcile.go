package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/operator/flux"
	"github.com/axle-cd/axle/operator/ownership"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/operator/schedule"
	"github.com/axle-cd/axle/operator/tenancy"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// steps are one reconcile, in order. Each may end it, with or without an error; what
// came out of it is then written to the object's status.
var steps = []step{
	{"credentials", (*pass).credentials},
	{"delete", (*pass).delete},
	{"references", (*pass).lookUp},
	{"convert", (*pass).convert},
	{"unchanged", (*pass).unchanged},
	{"read", (*pass).read},
	{"decide", (*pass).decide},
	{"finalizer", (*pass).protect},
	{"write", (*pass).write},
}

// step returns whether the reconcile ends with it.
type step struct {
	name string
	run  func(*pass, context.Context) (bool, error)
}

// reconciler serves one kind.
type reconciler struct {
	kind
	// cluster reads from the cache, except for Secrets and ConfigMaps, and writes.
	cluster client.Client
	// direct reads Secrets and ConfigMaps from the API server.
	direct  client.Reader
	tenancy *tenancy.Tenancy
	flux    *flux.Sources
	// learned are references that only the sources of objects show.
	learned *flux.Index
	// clusterUID is the uid of the namespace kube-system of this cluster.
	clusterUID string
	timing     Timing
	events     events.EventRecorder
	due        *schedule.Schedule
	// namespaced is false for a cluster-scoped kind.
	namespaced bool
}

// Timing are the times of the controllers.
type Timing = schedule.Timing

// pass is one reconcile of one object.
type pass struct {
	*reconciler
	key types.NamespacedName
	// object is as the API server has it. Only finish changes its status.
	object client.Object
	// credential is what the object acts with, unless denied says why there is none.
	credential tenancy.Credential
	denied     error
	refs       reference.Resolved
	item       *manifest.Item
	sha        string
	hub        *sdk.Client
	have       *found
	action     ownership.Action

	// What the steps found out, for the status.
	waits     string
	wrote     bool
	untouched bool
	suspended bool
	unbound   bool
	gone      bool
	after     time.Duration
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	p := &pass{reconciler: r, key: request.NamespacedName, object: r.kind.object.DeepCopyObject().(client.Object)}
	if err := r.cluster.Get(ctx, request.NamespacedName, p.object); err != nil {
		r.due.Drop(request.NamespacedName)
		r.learned.Set(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if r.due.Behind(p.key, p.object.GetResourceVersion()) {
		return reconcile.Result{RequeueAfter: jitter.Full(schedule.CacheDelay)}, nil
	}
	if rival, left := ownership.Rival(p.object, r.timing.Quiet); left > 0 {
		p.event(corev1.EventTypeWarning, ownership.RivalReason, ownership.RivalNote, rival)
		return reconcile.Result{RequeueAfter: left + jitter.Full(time.Second)}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timing.Limit)
	defer cancel()
	var done bool
	var err error
	for _, s := range steps {
		if done, err = s.run(p, ctx); done || err != nil {
			break
		}
	}
	return p.finish(ctx, err)
}

// finish writes the status, and says when to come back.
func (p *pass) finish(ctx context.Context, err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		// The object changed meanwhile: its next version is on its way.
		return reconcile.Result{RequeueAfter: jitter.Full(time.Second)}, nil
	}
	if p.gone {
		p.due.Drop(p.key)
		return reconcile.Result{}, nil
	}
	if wrong := p.report(ctx, err); wrong != nil && !apierrors.IsNotFound(wrong) {
		return reconcile.Result{}, errors.Join(err, fmt.Errorf("write the status: %w", wrong))
	}
	var absent missing
	switch {
	case errors.As(err, &absent):
		p.due.Forget(p.key)
		return reconcile.Result{RequeueAfter: spread(p.timing.Missing)}, nil
	case err != nil:
		p.due.Forget(p.key)
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: p.after}, nil
}

// spread returns a random time between 50 and 150 % of d.
func spread(d time.Duration) time.Duration { return jitter.Around(d, d/2) }

// interval is the time to the next check of the object; zero is never.
func (p *pass) interval() time.Duration { return p.timing.Interval(p.common(p.object).reconciliation) }

// finalizer is the name of the kind's finalizer, empty for none.
func (k kind) finalizer() string {
	if k.protection == "" {
		return ""
	}
	return k.gvk().Group + "/" + k.protection + "-protection"
}

// guarded reports whether the object is to have the finalizer.
func (p *pass) guarded() bool { return p.finalizer() != "" && (p.guards == nil || p.guards(p.object)) }

func (p *pass) protected() bool {
	return p.finalizer() != "" && controllerutil.ContainsFinalizer(p.object, p.finalizer())
}
