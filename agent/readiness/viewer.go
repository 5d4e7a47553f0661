package readiness

import (
	"context"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

// Viewer is the person who asks.
type Viewer struct {
	// User and Groups are what the API server knows of the person.
	User   string
	Groups []string
	// Allowed reports whether the agent's policy lets the person list the objects of a path.
	Allowed func(path string) bool
}

// view asks what a Viewer may list.
type view struct {
	Viewer
	client kubernetes.Interface
	// asked are the answers so far.
	asked map[string]bool
}

func (c *Checker) view(v Viewer) (*view, error) {
	as := rest.CopyConfig(c.conf)
	as.Impersonate = rest.ImpersonationConfig{UserName: v.User, Groups: v.Groups}
	client, err := kubernetes.NewForConfig(as)
	return &view{v, client, map[string]bool{}}, err
}

// may reports whether the person may list the objects of a path: by the policy of the agent,
// and by the cluster's RBAC, which the API server is asked as that person.
func (v *view) may(ctx context.Context, path string) (bool, error) {
	if may, known := v.asked[path]; known {
		return may, nil
	}
	if !v.Allowed(path) {
		v.asked[path] = false
		return false, nil
	}
	of := kubereq.Parse(http.MethodGet, path, "")
	review, err := v.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: of.Verb, Group: of.Group, Version: of.Version, Resource: of.Resource, Namespace: of.Namespace,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, errcode.New(errcode.Unavailable, "the agent cannot ask its API server what you may list: %w", err)
	}
	v.asked[path] = review.Status.Allowed
	return review.Status.Allowed, nil
}
