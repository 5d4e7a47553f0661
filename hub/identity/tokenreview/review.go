// Package tokenreview asks the API server of the hub's own cluster whether a token is
// that of one Kubernetes ServiceAccount, by a TokenReview. hub/identity/federation
// exchanges such a token for a short one of the hub, so that a program in the cluster,
// the operator, logs in without a stored secret.
//
// It decides nothing else: what the token gives is federation's business. It keeps no
// answers; the token of the hub that comes of one lives a minute.
//
// Invariants: a token counts only for the audience that it is asked about. A review
// ends within 5 s and at most 8 run at a time; more are refused, and not queued. Tokens
// that the API server accepted before have 2 more to themselves, so that strangers, who may
// send any text, do not keep out who is in. If the API server does not answer, nobody is
// let in.
package tokenreview

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	reviewTimeout = 5 * time.Second
	maxReviews    = 8
	// ownReviews are those of tokens that were accepted before, of which so many are
	// remembered: an account has one token for about an hour.
	ownReviews    = 2
	maxRemembered = 16
	maxAnswer     = 1 << 20
)

// Config configures a Reviewer.
type Config struct {
	// Account is NAMESPACE/NAME of the ServiceAccount.
	Account string
	// Kubeconfig reaches the cluster; empty is the pod's own account. Its user may
	// create tokenreviews.authentication.k8s.io (ClusterRole system:auth-delegator).
	Kubeconfig string
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
}

// Reviewer reviews tokens of one ServiceAccount.
type Reviewer struct {
	subject string
	url     string
	client  *http.Client
	// strangers are for tokens that nobody knows, own for those that were accepted before.
	strangers, own *pool.Places

	mu       sync.Mutex
	accepted [][sha256.Size]byte
}

// New checks the configuration, and opens no connection. Errors are Invalid.
func New(c Config) (*Reviewer, error) {
	namespace, name, ok := strings.Cut(c.Account, "/")
	if !ok || namespace == "" || name == "" || strings.ContainsAny(name, "/:") || strings.Contains(namespace, ":") {
		return nil, errcode.New(errcode.Invalid, "%q is not NAMESPACE/NAME of a ServiceAccount", c.Account)
	}
	var config *rest.Config
	var err error
	if c.Kubeconfig == "" {
		config, err = rest.InClusterConfig()
	} else {
		config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	}
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "find the cluster whose ServiceAccount logs in (outside of one, give a kubeconfig): %w", err)
	}
	config.Timeout = reviewTimeout
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "kubeconfig: %w", err)
	}
	return &Reviewer{
		subject: "system:serviceaccount:" + namespace + ":" + name, url: strings.TrimSuffix(config.Host, "/") + "/apis/authentication.k8s.io/v1/tokenreviews",
		client:    client,
		strangers: c.Pools.Places(pool.Spec{Name: "strangers_token_reviews", Of: "questions to the hub's cluster about tokens", Size: maxReviews, Retry: time.Second}),
		own:       c.Pools.Places(pool.Spec{Name: "operator_token_reviews", Of: "questions about the operator's token", Size: ownReviews, Retry: time.Second}),
	}, nil
}

// Subject is the sub claim of the account's tokens.
func (r *Reviewer) Subject() string { return r.subject }

// Review returns nil for a token of the account that is valid now for the audience.
// Unauthorized otherwise; Unavailable when the API server cannot be asked, Exhausted when
// it is asked about too many.
func (r *Reviewer) Review(ctx context.Context, audience, token string) error {
	sum, places, caller := sha256.Sum256([]byte(token)), r.strangers, pool.Of(ctx)
	if r.remembers(sum) {
		places, caller.Reserved = r.own, true
	}
	held, err := places.Take(caller)
	if err != nil {
		return err
	}
	defer held.Leave()
	status, err := r.ask(ctx, authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}})
	switch {
	case err != nil:
		return errcode.Hide(errcode.Unavailable, err, "the hub cannot ask its cluster about the ServiceAccount's token; try again in a moment").After(time.Second)
	case !status.Authenticated || !slices.Contains(status.Audiences, audience):
		return errcode.New(errcode.Unauthorized, "the cluster does not accept the ServiceAccount's token for the audience %s: give the operator a projected token with this audience", audience)
	case status.User.Username != r.subject:
		return errcode.New(errcode.Unauthorized, "the token is not that of %s", r.subject)
	}
	r.remember(sum)
	return nil
}

// Known reports whether a token was accepted before.
func (r *Reviewer) Known(token string) bool { return r.remembers(sha256.Sum256([]byte(token))) }

func (r *Reviewer) remembers(sum [sha256.Size]byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.accepted, sum)
}

func (r *Reviewer) remember(sum [sha256.Size]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.accepted, sum) {
		return
	}
	if len(r.accepted) == maxRemembered {
		r.accepted = r.accepted[1:]
	}
	r.accepted = append(r.accepted, sum)
}

func (r *Reviewer) ask(ctx context.Context, spec authenticationv1.TokenReviewSpec) (status authenticationv1.TokenReviewStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	text, err := json.Marshal(authenticationv1.TokenReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}, Spec: spec})
	if err != nil {
		return status, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(text))
	if err != nil {
		return status, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := r.client.Do(request)
	if err != nil {
		return status, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return status, err
	}
	if answer.StatusCode != http.StatusCreated {
		return status, fmt.Errorf("the API server answered %s to a TokenReview; may the hub's account create them?", answer.Status)
	}
	var review authenticationv1.TokenReview
	err = bounded.JSON(body, &review, bounded.Most(maxAnswer))
	return review.Status, err
}
