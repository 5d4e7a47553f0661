package proxy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/gitserver"
)

// madeClass is a template's class; nothing here runs Cluster API.
const madeClass = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: play}
spec: {variables: [{name: region, required: true}]}
`

// makes makes a cluster of a template on each management cluster, in project shop.
func (w *whole) makes(clusters map[string]string) {
	t := w.t
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := git.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	must(t)(git.Commit(t.Context(), "fleet", "main", "a template", map[string]gitserver.Content{
		"play/template.yaml": "name: play\n", "play/class/class.yaml": madeClass,
		"play/schema.json": `{"type": "object", "required": ["region"], "properties": {"region": {"type": "string"}, "version": {"type": "string", "default": "v1.37.0"}}}`,
	}))
	must(t)(w.client.Projects.Create(t.Context(), connect.NewRequest(&hubv1.CreateProjectRequest{Name: "shop"})))
	must(t)(w.client.Repositories.Create(t.Context(), connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: "fleet", Url: git.URL("fleet")})))
	settings := &hubv1.ClusterTemplateSettings{
		Repository: "fleet", Ref: "main", Folder: "play", Kinds: []string{"Cluster.cluster.x-k8s.io", "ClusterClass.cluster.x-k8s.io"}, Projects: []string{"shop"},
	}
	for _, on := range clusters {
		settings.ManagementClusters = append(settings.ManagementClusters, on)
	}
	must(t)(w.client.ClusterTemplates.Apply(t.Context(), connect.NewRequest(&hubv1.ApplyClusterTemplateRequest{Name: "play", Settings: settings})))
	for name, on := range clusters {
		must(t)(w.client.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{
			Name: name, Project: "shop", FromTemplate: &hubv1.FromTemplate{Template: "play", Set: map[string]string{"region": "eu"}, ManagementCluster: on},
		})))
	}
}

// as is a client with rights on project shop.
func (w *whole) as(name string, actions ...string) *sdk.Client {
	t := w.t
	t.Helper()
	must(t)(w.client.ServiceAccounts.Create(t.Context(), connect.NewRequest(&hubv1.CreateServiceAccountRequest{Name: name})))
	must(t)(w.client.Bindings.Create(t.Context(), connect.NewRequest(&hubv1.CreateBindingRequest{
		SubjectKind: "service_account", Subject: name, Actions: actions, Place: &hubv1.Place{Project: "shop"},
	})))
	token, err := w.client.ServiceAccounts.CreateToken(t.Context(), connect.NewRequest(&hubv1.CreateServiceAccountTokenRequest{Account: name, Name: "test", Scopes: []string{"read", "write"}}))
	if err != nil {
		t.Fatal(err)
	}
	return w.withToken(token.Msg.GetSecret())
}

func (w *whole) withToken(token string) *sdk.Client {
	w.t.Helper()
	client, err := sdk.New(sdk.Config{URL: w.hub.URL, Token: token, CAPEM: w.ca})
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

// madeSecret writes Cluster API's kubeconfig of a cluster, whose token is the canary.
func madeSecret(t *testing.T, api kubernetes.Interface, namespace, cluster, canary string) {
	t.Helper()
	_, err := api.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: cluster + "-kubeconfig"}, Type: "cluster.x-k8s.io/secret", StringData: map[string]string{"value": `apiVersion: v1
kind: Config
current-context: cp
clusters: [{name: cp, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: cp, context: {cluster: cp, user: admin}}]
users: [{name: admin, user: {token: ` + canary + `}}]
`}}
	_, err = api.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = api.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAnAdministratorGetsTheKubeconfigOfClusterAPI goes the whole way: the command, the hub, the
// tunnel, the management cluster's agent and the Secret that Cluster API keeps there.
func TestAnAdministratorGetsTheKubeconfigOfClusterAPI(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	api, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	// Of another management cluster, there is no tunnel.
	must(t)(w.client.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "away"})))
	w.makes(map[string]string{"shop-1": "edge", "shop-2": "away"})
	namespaces := map[string]string{}
	for _, name := range []string{"shop-1", "shop-2"} {
		made, err := w.client.Clusters.Get(t.Context(), connect.NewRequest(&hubv1.GetClusterRequest{Name: name}))
		if err != nil {
			t.Fatal(err)
		}
		namespaces[name] = made.Msg.GetOrigin().GetNamespace()
	}
	ask := func(client *sdk.Client, name string) (string, error) {
		got, err := client.Clusters.AdminKubeconfig(t.Context(), connect.NewRequest(&hubv1.AdminKubeconfigRequest{Name: name}))
		if err != nil {
			return "", err
		}
		return got.Msg.GetKubeconfig(), nil
	}
	eventually.For(t, limit, "the agent knows the service, and waits for Cluster API", func() error {
		_, err := ask(w.client, "shop-1")
		if !errcode.Is(err, errcode.Unavailable) || !strings.Contains(err.Error(), "has no kubeconfig yet") {
			return fmt.Errorf("it says %w", err)
		}
		return nil
	})
	// That of shop-2 lies where only a confused hub would look for it.
	madeSecret(t, api, namespaces["shop-2"], "shop-2", "canary-of-another")
	for i, canary := range []string{"canary-first", "canary-rotated"} {
		madeSecret(t, api, namespaces["shop-1"], "shop-1", canary)
		path := filepath.Join(t.TempDir(), "kubeconfig")
		out, errs, err := w.command(w.axle, "clusters", "kubeconfig", "shop-1", "--admin", "--output", path)
		if err != nil || strings.Contains(out+errs, "canary") {
			t.Fatalf("%v\n%s%s", err, out, errs)
		}
		config, err := clientcmd.LoadFromFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if at := config.Contexts["shop-1"]; config.CurrentContext != "shop-1" || config.AuthInfos[at.AuthInfo].Token != canary || config.Clusters[at.Cluster].Server != "https://127.0.0.1:1" {
			t.Errorf("kubeconfig %d is not that of the Secret", i)
		}
		if mode, err := os.Stat(path); err != nil || mode.Mode().Perm() != 0o600 {
			t.Errorf("the file is %v, %v", mode.Mode(), err)
		}
	}

	reading, err := w.client.Tokens.Create(t.Context(), connect.NewRequest(&hubv1.CreateTokenRequest{Name: "writes", Scopes: []string{"read", "write"}}))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]struct {
		by      *sdk.Client
		cluster string
		want    errcode.Code
		says    string
	}{
		"who may do all in the project":     {w.as("all", "read", "write", "create", "git"), "shop-1", errcode.Forbidden, ""},
		"who reads the project":             {w.as("reads", "read"), "shop-1", errcode.Forbidden, ""},
		"an administrator's smaller token":  {w.withToken(reading.Msg.GetSecret()), "shop-1", errcode.Forbidden, ""},
		"one of another management cluster": {w.client, "shop-2", errcode.Unavailable, "away"},
		"one that nobody made":              {w.client, "edge", errcode.Unprocessable, "was not made from a template"},
		"none":                              {w.client, "nowhere", errcode.NotFound, "nowhere"},
	} {
		text, err := ask(s.by, s.cluster)
		if !errcode.Is(err, s.want) || !strings.Contains(fmt.Sprint(err), s.says) || strings.Contains(text+fmt.Sprint(err), "canary") {
			t.Errorf("%s: %q, %v, want %s", name, text, err, s.want)
		}
	}
	w.recordsAdminKubeconfigs()
}

// recordsAdminKubeconfigs checks that the audit log has who got one and who did not, and no
// secret.
func (w *whole) recordsAdminKubeconfigs() {
	w.t.Helper()
	eventually.For(w.t, limit, "the records", func() error {
		all, err := w.client.Audit.List(w.t.Context(), connect.NewRequest(&hubv1.ListAuditRequest{}))
		if err != nil {
			return err
		}
		if strings.Contains(all.Msg.String(), "canary") {
			w.t.Fatalf("the records have the secret: %s", all.Msg)
		}
		for by, result := range map[string]string{hubtest.Admin: "ok", "all": string(errcode.Forbidden)} {
			list, err := w.client.Audit.List(w.t.Context(), connect.NewRequest(&hubv1.ListAuditRequest{Action: "Clusters/AdminKubeconfig", Object: "shop-1", Result: result}))
			if err == nil && !strings.Contains(list.Msg.String(), by) {
				err = fmt.Errorf("%s is not among %s", by, list.Msg)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
