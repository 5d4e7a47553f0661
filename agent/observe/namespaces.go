package observe

import (
	"context"
	"slices"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubepage"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/telemetry"
)

const (
	// reviewWithin bounds one look, and reviewsOfOne how many questions of it are asked at
	// once.
	reviewWithin = 20 * time.Second
	reviewsOfOne = 16
	// namespacesPage is how many namespaces are read at once.
	namespacesPage = 500
)

// Namespaces returns those in which a person may read the logs of pods: by the policy of the
// agent, and by the cluster's RBAC, which the API server is asked as that person.
func (o *Observer) Namespaces(ctx context.Context, viewer Viewer) (*agentv1.ObservedNamespaces, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewWithin)
	defer cancel()
	place, err := o.reviews.Wait(ctx, pool.Caller{Name: viewer.User})
	if err != nil {
		return nil, err
	}
	defer place.Leave()
	as := rest.CopyConfig(o.conf)
	as.Impersonate = rest.ImpersonationConfig{UserName: viewer.User, Groups: viewer.Groups}
	// The people who wait are bounded; the API server's own fairness is for the rest.
	as.QPS, as.Burst = 200, 400
	client, err := kubernetes.NewForConfig(as)
	if err != nil {
		return nil, errcode.New(errcode.Internal, "the way to the API server: %w", err)
	}
	if viewer.Allowed("/api/v1/pods") && viewer.Allowed("/api/v1/namespaces/default/pods/any/log") {
		all, err := may(ctx, client, "")
		if err != nil || all {
			return &agentv1.ObservedNamespaces{All: all}, err
		}
	}
	names, more, err := o.names(ctx)
	if err != nil {
		return nil, err
	}
	out := &agentv1.ObservedNamespaces{LeftOut: more}
	var mu sync.Mutex
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(reviewsOfOne)
	for _, name := range names {
		if !viewer.Allowed("/api/v1/namespaces/" + name + "/pods/any/log") {
			continue
		}
		asking.Go(func() error {
			allowed, err := may(ctx, client, name)
			if err == nil && allowed {
				mu.Lock()
				out.Names = append(out.Names, name)
				mu.Unlock()
			}
			return err
		})
	}
	if err := asking.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(out.Names)
	return out, nil
}

// may asks as a person whether they may read the logs of pods in a namespace; empty is all.
func may(ctx context.Context, client kubernetes.Interface, namespace string) (bool, error) {
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "get", Version: "v1", Resource: "pods", Subresource: "log", Namespace: namespace,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, errcode.New(errcode.Unavailable, "the agent cannot ask its API server whose logs you may read: %w", err)
	}
	return review.Status.Allowed, nil
}

// names are the first namespaces of the cluster, and how many more there are.
func (o *Observer) names(ctx context.Context) (names []string, more int32, err error) {
	client, err := kubepage.NewClient(o.conf)
	if err != nil {
		return nil, 0, errcode.New(errcode.Internal, "the way to the API server: %w", err)
	}
	_, err = kubepage.Objects(ctx, client, corev1.SchemeGroupVersion.WithResource("namespaces"), metav1.NamespaceAll, metav1.ListOptions{Limit: namespacesPage}, func(n *unstructured.Unstructured) error {
		if len(names) == telemetry.MaxNamespaces {
			more++
			return nil
		}
		names = append(names, n.GetName())
		return nil
	}, func(error) error {
		more++
		return nil
	})
	if err != nil {
		return nil, 0, errcode.New(errcode.Unavailable, "the agent cannot list the namespaces of its cluster: %w", err)
	}
	return names, more, nil
}
