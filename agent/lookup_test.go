package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
)

// lookups renders a chart of one template against an API server, with the real
// child and the lookups of the agent.
type lookups struct {
	t      *testing.T
	kube   poll.Cluster
	gate   *tenancy.Gate
	runner *render.Runner
}

const (
	lookupUser      = "agent-that-looks"
	lookupNamespace = "looking"
	lookupOther     = "not-to-be-seen"
)

func newLookups(t *testing.T) *lookups {
	t.Helper()
	cluster := kube.Shared(t)
	admin, err := kubernetes.NewForConfig(cluster.Config())
	needs(t, err)
	ctx := t.Context()
	for _, namespace := range []string{lookupNamespace, lookupOther} {
		_, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		needs(t, ignoreExisting(err))
		_, err = admin.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token"}, Data: map[string][]byte{"value": []byte("of " + namespace)}}, metav1.CreateOptions{})
		needs(t, ignoreExisting(err))
		_, err = admin.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "edge-kubeconfig"}, Type: "cluster.x-k8s.io/secret", Data: map[string][]byte{"value": []byte("of edge")}}, metav1.CreateOptions{})
		needs(t, ignoreExisting(err))
	}
	_, err = admin.RbacV1().Roles(lookupNamespace).Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list"}}}}, metav1.CreateOptions{})
	needs(t, ignoreExisting(err))
	_, err = admin.RbacV1().RoleBindings(lookupNamespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "tenant", Namespace: lookupNamespace}}}, metav1.CreateOptions{})
	needs(t, ignoreExisting(err))
	// The API server decides by caches of its own.
	eventually.For(t, time.Minute, "the account's rights are known", func() error {
		review, err := admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + lookupNamespace + ":tenant",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: lookupNamespace, Verb: "list", Resource: "secrets"}}}, metav1.CreateOptions{})
		if err == nil && !review.Status.Allowed {
			err = errors.New("it may not list Secrets yet")
		}
		return err
	})
	config, err := cluster.KubeconfigFor(lookupUser, "system:masters")
	needs(t, err)
	binary, err := bin.Path(ctx, "axle-render", bin.Options{})
	needs(t, err)
	l := &lookups{t: t}
	l.kube, err = agent.NewCluster(config)
	needs(t, err)
	rest, err := cluster.ConfigFor(lookupUser, "system:masters")
	needs(t, err)
	l.gate = tenancy.New(rest, "axle-system")
	l.gate.Close(func(namespace string) string { return map[string]string{"closed": "another"}[namespace] })
	l.runner, err = render.New(render.Config{Binary: binary, Pool: 1})
	needs(t, err)
	t.Cleanup(l.runner.Close)
	return l
}

// of renders what a template makes of a lookup.
func (l *lookups) of(account, template string) (string, []render.Read, error) {
	l.t.Helper()
	dir := l.t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml":       "apiVersion: v2\nname: look\nversion: 1.0.0\n",
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {found: {{ " + template + " | toString | quote }}}\n",
	} {
		needs(l.t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		needs(l.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	caps, _, err := l.kube.Capabilities(l.t.Context())
	needs(l.t, err)
	permit, err := l.gate.Permit(tenancy.Request{Service: "s", Namespace: lookupNamespace, Account: account})
	needs(l.t, err)
	result, err := l.runner.Render(l.t.Context(), render.Pass{ID: "s", Name: "look", Namespace: lookupNamespace, Folder: dir, Capabilities: caps, Lookup: poll.Lookups{Cluster: l.kube, Permit: permit}})
	if err != nil {
		return "", nil, err
	}
	if len(result.Objects) != 1 {
		return "", nil, fmt.Errorf("%d objects", len(result.Objects))
	}
	var object struct{ Data map[string]string }
	needs(l.t, yaml.Unmarshal(result.Objects[0].JSON, &object))
	return object.Data["found"], result.Reads, nil
}

// TestLookupsReadTheCluster looks up in a real API server, as the agent and as
// the account of a service, and sends nothing but reads.
func TestLookupsReadTheCluster(t *testing.T) {
	l := newLookups(t)
	cluster := kube.Shared(t)
	mark, err := cluster.AuditMark()
	needs(t, err)
	const tenant = "tenant"
	tests := map[string]struct {
		account, template, want, refused string
	}{
		"an object":               {template: `(lookup "v1" "Secret" "looking" "token").data.value | b64dec`, want: "of looking"},
		"none":                    {template: `empty (lookup "v1" "Secret" "looking" "other")`, want: "true"},
		"a list":                  {template: `len (lookup "v1" "Secret" "looking" "").items`, want: "1"},
		"without a namespace":     {template: `(lookup "v1" "Namespace" "" "looking").metadata.name`, want: "looking"},
		"a kind that is unknown":  {template: `empty (lookup "nobody.example.com/v1" "Thing" "looking" "a")`, want: "true"},
		"all namespaces":          {template: `ge (len (lookup "v1" "Secret" "" "").items) 2`, want: "true"},
		"the version":             {template: `hasPrefix "v1." .Capabilities.KubeVersion.Version`, want: "true"},
		"an API that is served":   {template: `.Capabilities.APIVersions.Has "apps/v1/Deployment"`, want: "true"},
		"one that is not":         {template: `.Capabilities.APIVersions.Has "monitoring.coreos.com/v1"`, want: "false"},
		"the account's namespace": {account: tenant, template: `(lookup "v1" "Secret" "looking" "token").data.value | b64dec`, want: "of looking"},
		"its list":                {account: tenant, template: `len (lookup "v1" "Secret" "looking" "").items`, want: "1"},
		"another's Secret":        {account: tenant, template: `(lookup "v1" "Secret" "not-to-be-seen" "token").data.value | b64dec`, refused: "forbidden"},
		"others' lists":           {account: tenant, template: `len (lookup "v1" "Secret" "" "").items`, refused: "forbidden"},
		"a cluster's credential":  {template: `(lookup "v1" "Secret" "looking" "edge-kubeconfig").data.value | b64dec`, refused: "administrator of a cluster"},
		"with an account":         {account: tenant, template: `(lookup "v1" "Secret" "looking" "edge-kubeconfig").data.value | b64dec`, refused: "administrator of a cluster"},
		"in all namespaces":       {template: `contains "edge-kubeconfig" (lookup "v1" "Secret" "" "" | toString)`, want: "false"},
		"a closed namespace":      {template: `lookup "v1" "ConfigMap" "closed" "kube-root-ca.crt"`, refused: "closed to all services"},
		"nodes":                   {account: tenant, template: `len (lookup "v1" "Node" "" "").items`, refused: "forbidden"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l.t = t
			got, _, err := l.of(test.account, test.template)
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) || strings.Contains(err.Error(), "of not-to-be-seen") || strings.Contains(err.Error(), "of edge") {
					t.Errorf("got %q and %v, want it %s", got, err, test.refused)
				}
				return
			}
			needs(t, err)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	events, err := cluster.AuditSince(mark)
	needs(t, err)
	for _, e := range events.ByUser(lookupUser).Requests() {
		if e.Verb != "get" && e.Verb != "list" {
			t.Errorf("a lookup sent %s %s", e.Verb, e.URI)
		}
	}
	if len(events.ByUser(lookupUser).Requests()) == 0 {
		t.Error("no request was noticed: the test proves nothing")
	}
}

// ignoreExisting lets a test run again on the same API server.
func ignoreExisting(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
