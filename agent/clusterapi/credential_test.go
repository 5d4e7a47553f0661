package clusterapi_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/agent/clusterapi"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/kube"
)

// asker is an administrator or not, whom the agent's policy lets read or not.
type asker struct{ administrator, reads bool }

func (a asker) Administrates() bool { return a.administrator }
func (a asker) Allowed(path string) bool {
	return a.reads && strings.HasPrefix(path, "/api/v1/namespaces/clusterapi-credentials/secrets/") && strings.HasSuffix(path, "-kubeconfig")
}

// The credential of a cluster is for administrators, of a service that makes one, and only as
// data.
func TestACredentialIsForAdministrators(t *testing.T) {
	const namespace = "clusterapi-credentials"
	api, err := kubernetes.NewForConfig(kube.Shared(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	const start = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: \"https://cp.example.test\"}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
	const whole, runs = start + "users: [{name: u, user: {token: canary}}]\n", start + "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: id, interactiveMode: Never}}}]\n"
	for name, s := range map[string]struct {
		kind corev1.SecretType
		text string
	}{"good": {"cluster.x-k8s.io/secret", whole}, "runs": {"cluster.x-k8s.io/secret", runs}, "ordinary": {corev1.SecretTypeOpaque, whole}} {
		_, err := api.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-kubeconfig"}, Type: s.kind, StringData: map[string]string{"value": s.text}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	made := clusterapi.New(clusterapi.Config{Client: api})
	var specs []*agentv1.ServiceSpec
	for _, name := range []string{"good", "runs", "ordinary", "new", ""} {
		specs = append(specs, &agentv1.ServiceSpec{Id: "svc-" + name, Namespace: namespace, MakesCluster: name})
	}
	made.Set(specs)
	for name, c := range map[string]struct {
		by      asker
		service string
		refused errcode.Code
	}{
		"an administrator":                     {asker{true, true}, "svc-good", ""},
		"where the policy lets nobody read it": {asker{true, false}, "svc-good", errcode.Forbidden},
		"somebody else":                        {asker{false, true}, "svc-good", errcode.Forbidden},
		"a service that makes none":            {asker{true, true}, "svc-", errcode.NotFound},
		"no service":                           {asker{true, true}, "svc-none", errcode.NotFound},
		"one that is not up":                   {asker{true, true}, "svc-new", errcode.Unavailable},
		"a kubeconfig that runs a program":     {asker{true, true}, "svc-runs", errcode.Unprocessable},
		"a Secret that is not of Cluster API":  {asker{true, true}, "svc-ordinary", errcode.Unprocessable},
		"somebody else, of a service that not": {asker{false, true}, "svc-none", errcode.Forbidden},
	} {
		got, err := made.Kubeconfig(t.Context(), c.by, c.service)
		if errcode.Of(err) != c.refused || strings.Contains(string(got.GetKubeconfig()), "canary") != (c.refused == "") {
			t.Errorf("%s: %q, %v", name, got.GetKubeconfig(), err)
		}
	}
}
