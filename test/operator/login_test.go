package operator_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/operator"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/kube"
)

// projected is a token as the kubelet projects it into the operator's pod.
func (b *bed) projected(account, audience string) string {
	b.Helper()
	client, err := kubernetes.NewForConfig(b.cluster.Config())
	if err != nil {
		b.Fatal(err)
	}
	seconds := int64(600)
	made, err := client.CoreV1().ServiceAccounts(b.namespace).CreateToken(b.Context(), account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return made.Status.Token
}

// delegated is a kubeconfig of a hub that may create TokenReviews and nothing else.
func delegated(t *testing.T) string {
	t.Helper()
	path, err := kube.Shared(t).KubeconfigFor("axle-hub")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (b *bed) delegate() {
	b.Helper()
	b.apply("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: axle-hub}\n" +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'system:auth-delegator'}\n" +
		"subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: axle-hub}]")
	eventually.For(b, limit, "the API server knows the rights of the hub", func() error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "axle-hub", ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Group: authenticationv1.GroupName, Resource: "tokenreviews"},
		}}
		err := b.Create(b.Context(), review)
		if err == nil && !review.Status.Allowed {
			err = fmt.Errorf("they are denied: %s", review.Status.Reason)
		}
		return err
	})
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

// forged is a token with the claims of one and the signature of another.
func forged(claims, signature string) string {
	a, b := strings.Split(claims, "."), strings.Split(signature, ".")
	return a[0] + "." + a[1] + "." + b[2]
}

// The operator logs in with its ServiceAccount alone, and the hub asks its cluster.
func TestLoginByServiceAccount(t *testing.T) {
	namespace := kube.Shared(t).Namespace(t)
	b := newBedOf(t, hubtest.HubConfig{OperatorServiceAccount: namespace + "/axle-operator", OperatorKubeconfig: delegated(t)})
	b.delegate()
	b.namespace = namespace
	for _, account := range []string{"axle-operator", "other"} {
		b.apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: " + account + ", namespace: " + namespace + "}")
	}
	anonymous, err := sdk.New(sdk.Config{URL: b.hub.URL})
	if err != nil {
		t.Fatal(err)
	}
	exchange := func(token string) (*hubv1.CreatedToken, error) {
		answer, err := anonymous.Federation.Exchange(t.Context(), connect.NewRequest(&hubv1.ExchangeRequest{SubjectToken: token}))
		if err != nil {
			return nil, err
		}
		return answer.Msg, nil
	}
	good := b.projected("axle-operator", b.hub.URL)
	if _, err := exchange(good); !errcode.Is(err, errcode.Unauthorized) || !contains(err, "axle serviceaccounts create operator") {
		t.Errorf("without an account of the hub: %v", err)
	}
	ask(b, b.people.ServiceAccounts.Create, &hubv1.CreateServiceAccountRequest{Name: "operator"})
	for range 2 { // the same token counts again: its cluster is asked each time
		made, err := exchange(good)
		if err != nil {
			t.Fatal(err)
		}
		if life := time.Duration(made.GetToken().GetExpiresAt()-made.GetToken().GetCreatedAt()) * time.Microsecond; life > time.Minute || life <= 0 {
			t.Errorf("the token lives %s, at most 1 min is allowed", life)
		}
		held, err := sdk.New(sdk.Config{URL: b.hub.URL, Token: made.GetSecret()})
		if err != nil {
			t.Fatal(err)
		}
		if who := ask(b, held.Sessions.WhoAmI, &hubv1.WhoAmIRequest{}); who.GetName() != "operator" || who.GetKind() != "service_account" || who.GetAdmin() {
			t.Errorf("it acts as %v", who)
		}
		if _, err := held.Tokens.Create(t.Context(), request(&hubv1.CreateTokenRequest{Name: "long"})); !errcode.Is(err, errcode.Forbidden) {
			t.Errorf("it made a token that outlives it: %v", err)
		}
	}
	for name, token := range map[string]string{
		"for another audience":      b.projected("axle-operator", "https://elsewhere.example.com"),
		"of another ServiceAccount": b.projected("other", b.hub.URL),
		"with a forged signature":   good[:len(good)-8] + "AAAAAAAA",
		"with other claims":         forged(good, b.projected("other", b.hub.URL)),
	} {
		if _, err := exchange(token); !errcode.Is(err, errcode.Unauthorized) {
			t.Errorf("a token %s: %v", name, err)
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: meta1("axle-operator", namespace)}
	if err := b.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	// The API server itself remembers tokens for 10 s.
	eventually.For(b, limit, "the token of a ServiceAccount that is gone is refused", func() error {
		if _, err := exchange(good); !errcode.Is(err, errcode.Unauthorized) {
			return fmt.Errorf("%w, want unauthorized", cmp.Or(err, errors.New("accepted")))
		}
		return nil
	})
}

// The operator reads its file again for each login, and acts as the hub's account.
func TestOperatorWithServiceAccountToken(t *testing.T) {
	cluster := kube.Shared(t)
	namespace := cluster.Namespace(t)
	b := newBedOf(t, hubtest.HubConfig{OperatorServiceAccount: namespace + "/runs", OperatorKubeconfig: delegated(t)})
	b.delegate()
	b.apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runs, namespace: " + namespace + "}")
	ask(b, b.people.ServiceAccounts.Create, &hubv1.CreateServiceAccountRequest{Name: "operator", Admin: true})
	own := b.namespace
	b.namespace = namespace
	good, bad := b.projected("runs", b.hub.URL), b.projected("runs", "https://elsewhere.example.com")
	b.namespace = own
	b.tokenFile = filepath.Join(t.TempDir(), "projected")
	b.token(bad)
	b.operateWith(operator.Config{ServiceAccountTokenFile: b.tokenFile})
	b.apply(fmt.Sprintf(project, "first"))
	p := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}
	b.want(p, "Synchronized", "False", "Error", "projected token with this audience")
	b.token(good)
	b.synchronized(p)
	eventually.For(t, limit, "a record of what was done as operator", func() error {
		if len(ask(b, b.people.Audit.List, &hubv1.ListAuditRequest{Actor: "operator"}).GetRecords()) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	// It makes tokens for other accounts, though its own one was exchanged.
	b.writable(own)
	b.account("edge", "email: edge, tokenSecretRef: {name: edge, namespace: "+own+"}")
	if _, who := b.written("edge", own, ""); who.GetName() != "edge" {
		t.Errorf("the token acts as %v", who)
	}

	// A token for clusters does not end with its own one of a minute.
	b.own("RegistrationToken", "fleet", own, "{lifetime: 2h, tokenSecretRef: {name: fleet}}")
	o := &axlev1alpha1.RegistrationToken{ObjectMeta: meta1("fleet", own)}
	b.synchronized(o)
	if left := time.Until(o.Status.ExpiresAt.Time); left < time.Hour {
		t.Errorf("the token for clusters ends in %s", left)
	}

	// One login serves many calls.
	before := b.gate.count("Federation/Exchange")
	for i := range 5 {
		b.apply(fmt.Sprintf(project, fmt.Sprint("change", i)))
		b.synchronized(p)
	}
	if n := b.gate.count("Federation/Exchange"); n != before {
		t.Errorf("%d logins for 5 changes", n-before)
	}
}

// A hub that cannot ask its cluster lets nobody in, and says so.
func TestLoginWhileTheClusterIsAway(t *testing.T) {
	cluster := kube.Shared(t)
	namespace := cluster.Namespace(t)
	away, err := cluster.KubeconfigWithToken("away", "not a token of this cluster")
	if err != nil {
		t.Fatal(err)
	}
	b := newBedOf(t, hubtest.HubConfig{OperatorServiceAccount: namespace + "/runs", OperatorKubeconfig: away})
	b.apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runs, namespace: " + namespace + "}")
	ask(b, b.people.ServiceAccounts.Create, &hubv1.CreateServiceAccountRequest{Name: "operator"})
	b.namespace = namespace
	token := b.projected("runs", b.hub.URL)
	anonymous, err := sdk.New(sdk.Config{URL: b.hub.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = anonymous.Federation.Exchange(context.WithoutCancel(t.Context()), connect.NewRequest(&hubv1.ExchangeRequest{SubjectToken: token}))
	if !errcode.Is(err, errcode.Unavailable) || !contains(err, "cannot ask its cluster") {
		t.Errorf("%v, want unavailable", err)
	}
}
