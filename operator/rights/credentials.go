package rights

import (
	"context"
	"errors"
	"strings"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/operator/condition"
	"github.com/axle-cd/axle/operator/schedule"
	"github.com/axle-cd/axle/operator/tenancy"
)

// The kinds.
const (
	CredentialsKind = "NamespaceCredentials"
	secretKind      = "Secret"
)

// credentials shows whether NamespaceCredentials act, and as whom. It changes nothing in
// the hub, and decides nothing: package tenancy does, for each object. When the token
// changes, so does the status, and that wakes the objects that act with it.
type credentials struct {
	cluster client.Client
	tenancy *tenancy.Tenancy
	timing  schedule.Timing
	events  events.EventRecorder
	due     *schedule.Schedule
}

// AddCredentials adds the controller of NamespaceCredentials to a manager.
func AddCredentials(m manager.Manager, who *tenancy.Tenancy, timing schedule.Timing) error {
	r := &credentials{cluster: m.GetClient(), tenancy: who, timing: timing, events: m.GetEventRecorder("axle-operator"), due: schedule.New(timing.Pending)}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(secretKind))
	return builder.ControllerManagedBy(m).Named(CredentialsKind).
		For(&v1alpha1.NamespaceCredentials{}, builder.WithPredicates(changed)).
		Watches(&v1alpha1.NamespaceCredentials{}, handler.EnqueueRequestsFromMapFunc(r.rivals), builder.WithPredicates(changed)).
		WatchesMetadata(secret, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.holding(ctx, client.ObjectKeyFromObject(o))
		})).
		WatchesRawSource(source.Func(r.hear)).
		WithOptions(schedule.Options(1, timing)).
		Complete(r)
}

// changed lets updates pass that changed what an object declares, or its annotations.
var changed = predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})

// rivals are those that name a namespace that changed credentials name.
func (r *credentials) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, namespace := range o.(*v1alpha1.NamespaceCredentials).Spec.Namespaces {
		all, err := r.tenancy.Naming(ctx, namespace)
		if err != nil {
			return nil // only a cache that ends does not answer
		}
		requests = append(requests, requestsOf(all)...)
	}
	return requests
}

func (r *credentials) holding(ctx context.Context, secret client.ObjectKey) []reconcile.Request {
	all, err := r.tenancy.Holding(ctx, secret)
	if err != nil {
		return nil // only a cache that ends does not answer
	}
	return requestsOf(all)
}

func requestsOf(all []v1alpha1.NamespaceCredentials) []reconcile.Request {
	var requests []reconcile.Request
	for i := range all {
		requests = append(requests, tenancy.Requests(client.ObjectKeyFromObject(&all[i]))...)
	}
	return requests
}

// hear wakes those whose Secret changed outside of the admin namespaces.
func (r *credentials) hear(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.tenancy.Hear(ctx, func(ctx context.Context, c tenancy.Change) {
		if c.Kind == secretKind {
			for _, request := range r.holding(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name}) {
				queue.Add(request)
			}
		}
	})
	return nil
}

// Reconcile implements reconcile.Reconciler.
func (r *credentials) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := &v1alpha1.NamespaceCredentials{}
	if err := r.cluster.Get(ctx, request.NamespacedName, object); err != nil {
		r.due.Drop(request.NamespacedName)
		r.tenancy.Forget(request.Name)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if r.due.Behind(request.NamespacedName, object.ResourceVersion) {
		return reconcile.Result{RequeueAfter: jitter.Full(schedule.CacheDelay)}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timing.Limit)
	defer cancel()
	before := object.DeepCopy()
	result, err := r.look(ctx, object)
	object.Status.ObservedGeneration = object.Generation
	if !equality.Semantic.DeepEqual(before, object) {
		if wrong := r.cluster.Status().Patch(ctx, object, client.MergeFrom(before)); wrong != nil {
			return reconcile.Result{}, errors.Join(err, client.IgnoreNotFound(wrong))
		}
		r.due.Wrote(request.NamespacedName, object.ResourceVersion)
		if err != nil {
			r.events.Eventf(object, nil, corev1.EventTypeWarning, condition.Error, "Synchronize", "%s", err.Error())
		}
	}
	return result, err
}

// look asks the hub as whom the token acts: when it changed, and at each check.
func (r *credentials) look(ctx context.Context, object *v1alpha1.NamespaceCredentials) (reconcile.Result, error) {
	key, status := client.ObjectKeyFromObject(object), &object.Status
	err := r.tenancy.Check(ctx, object)
	var version string
	if err == nil {
		_, version, err = r.tenancy.Token(ctx, object)
	}
	every := r.timing.Interval(object.Spec.Reconciliation)
	if err == nil && status.TokenSHA != nil && *status.TokenSHA == version && status.ObservedGeneration == object.Generation && meta.IsStatusConditionTrue(status.Conditions, condition.Ready) {
		if wait, due := r.due.Wait(key, func() bool { return true }, every); !due {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
	}
	var account string
	if err == nil {
		status.TokenSHA = &version
		account, err = r.account(ctx, object)
	} else {
		status.TokenSHA = nil
	}
	meta.RemoveStatusCondition(&status.Conditions, condition.Supported)
	if err != nil {
		r.due.Forget(key)
		reason := condition.Error
		if errcode.Is(err, errcode.NotFound) {
			reason = condition.NotFound
		}
		condition.Set(object, &status.Conditions, condition.Synchronized, false, reason, err.Error())
		condition.Set(object, &status.Conditions, condition.Ready, false, reason, err.Error())
		return reconcile.Result{}, err
	}
	condition.Set(object, &status.Conditions, condition.Synchronized, true, condition.Synchronized, "no other credentials name these namespaces")
	condition.Set(object, &status.Conditions, condition.Ready, true, condition.Ready, "objects of "+strings.Join(object.Spec.Namespaces, ", ")+" act as "+account)
	return reconcile.Result{RequeueAfter: r.due.Again(key, true, every, r.timing.Pending)}, nil
}

func (r *credentials) account(ctx context.Context, object *v1alpha1.NamespaceCredentials) (string, error) {
	hub, err := r.tenancy.Client(ctx, tenancy.CredentialOf(object))
	if err != nil {
		return "", err
	}
	answer, err := hub.Sessions.WhoAmI(ctx, connect.NewRequest(&hubv1.WhoAmIRequest{}))
	if err != nil {
		return "", err
	}
	return answer.Msg.GetName(), nil
}
