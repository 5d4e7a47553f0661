package clusterapi_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/test/kube"
)

var (
	found    = schema.GroupVersionResource{Group: "deployments.plural.sh", Version: "v1alpha1", Resource: "pluralcapiclusters"}
	clusters = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta1", Resource: "clusters"} // an older Cluster API
)

const clusterDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusters.cluster.x-k8s.io, annotations: {api-approved.kubernetes.io: https://github.com/kubernetes-sigs/cluster-api}}
spec:
  group: cluster.x-k8s.io
  names: {kind: Cluster, plural: clusters}
  scope: Namespaced
  versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// agentObjects are what a hub answers.
const agentObjects = `apiVersion: v1
kind: Namespace
metadata: {name: axle-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: axle-agent, namespace: axle-system}
spec:
  selector: {matchLabels: {app: axle-agent}}
  template: {metadata: {labels: {app: axle-agent}}, spec: {containers: [{name: agent, image: agent}]}}
`

// answers is a hub that answers by the name of a cluster, and keeps what it was asked.
type answers struct {
	mu    sync.Mutex
	asked []*agentv1.FoundCluster
	errs  map[string]error
}

func (a *answers) EnrollChild(_ context.Context, r *agentv1.EnrollChildRequest) (*agentv1.Child, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.GetFound())
	if err := a.errs[r.GetFound().GetName()]; err != nil {
		return nil, err
	}
	return &agentv1.Child{Manifests: agentObjects}, nil
}
func (*answers) ReportChildren(context.Context, *agentv1.ReportChildrenRequest) error { return nil }

// findBed is an API server that is a management cluster, and the cluster of each kubeconfig.
type findBed struct {
	*testing.T
	server *kube.Cluster
	api    kubernetes.Interface
	client dynamic.Interface
	hub    *answers
	// admin is the kubeconfig of the API server, as Cluster API writes them.
	admin string
}

func newFindBed(t *testing.T) *findBed {
	b := &findBed{T: t, server: kube.Shared(t), hub: &answers{errs: map[string]error{}}}
	var err error
	b.api, err = kubernetes.NewForConfig(b.server.Config())
	b.must(err)
	b.client, err = dynamic.NewForConfig(b.server.Config())
	b.must(err)
	applier, err := kubeapply.New(b.server.Config())
	b.must(err)
	definition, err := os.ReadFile("../../deploy/crds/deployments.plural.sh_pluralcapiclusters.yaml")
	b.must(err)
	for _, text := range []string{string(definition), clusterDefinition} {
		all, err := kubeapply.Documents([]byte(text))
		b.must(err)
		for _, o := range all {
			b.must(applier.Apply(t.Context(), o, "test"))
		}
	}
	for _, r := range []schema.GroupVersionResource{found, clusters} {
		eventually.For(t, time.Minute, r.Resource, func() error {
			_, err := b.client.Resource(r).List(t.Context(), metav1.ListOptions{})
			return err
		})
	}
	text, err := os.ReadFile(b.server.Kubeconfig())
	b.must(err)
	b.admin = string(text)
	return b
}

func (b *findBed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *findBed) namespace(name string) {
	b.Helper()
	_, err := b.api.CoreV1().Namespaces().Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	b.must(err)
}

func (b *findBed) secret(namespace, name string, kind corev1.SecretType, key, text string) {
	b.Helper()
	_, err := b.api.CoreV1().Secrets(namespace).Create(b.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind, StringData: map[string]string{key: text}}, metav1.CreateOptions{})
	b.must(err)
}

// cluster makes a Cluster with a kubeconfig.
func (b *findBed) cluster(namespace, name, kubeconfig string, kind corev1.SecretType) {
	b.Helper()
	_, err := b.client.Resource(clusters).Namespace(namespace).Create(b.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": map[string]any{"name": name},
	}}, metav1.CreateOptions{})
	b.must(err)
	b.secret(namespace, name+"-kubeconfig", kind, "value", kubeconfig)
}

// object is a PluralCAPICluster; more is what else is in its spec.
func object(name, cluster, token, more string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion": "deployments.plural.sh/v1alpha1", "kind": "PluralCAPICluster", "metadata": {"name": %q}, "spec": {"capiClusterRef": {"name": %q}, "consoleTokenSecretRef": {"name": %q, "key": "token"}%s}}`, name, cluster, token, more)
	if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(err)
	}
	return o
}

func (b *findBed) create(namespace string, o *unstructured.Unstructured) {
	b.Helper()
	_, err := b.client.Resource(found).Namespace(namespace).Create(b.Context(), o, metav1.CreateOptions{})
	b.must(err)
}

// ready waits until the condition Ready of an object has a reason and a text.
func (b *findBed) ready(namespace, name, reason, text string) {
	b.Helper()
	eventually.For(b, time.Minute, namespace+"/"+name+" is "+reason, func() error {
		o, err := b.client.Resource(found).Namespace(namespace).Get(b.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, item := range list {
			c := item.(map[string]any)
			if c["type"] == "Ready" && c["reason"] == reason && strings.Contains(fmt.Sprint(c["message"]), text) && (c["status"] == "True") == (reason == "Connected") {
				return nil
			}
		}
		return fmt.Errorf("it has %v", list)
	})
}

// tenant is a client of a user with some rights in a namespace.
func (b *findBed) tenant(namespace, user string, rules ...rbacv1.PolicyRule) dynamic.Interface {
	b.Helper()
	rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{found.Group}, Resources: []string{found.Resource}, Verbs: []string{"*"}})
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}
	_, err := b.api.RbacV1().Roles(namespace).Create(b.Context(), role, metav1.CreateOptions{})
	b.must(err)
	_, err = b.api.RbacV1().RoleBindings(namespace).Create(b.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	b.must(err)
	file, err := b.server.KubeconfigFor(user)
	b.must(err)
	conf, err := clientcmd.BuildConfigFromFlags("", file)
	b.must(err)
	client, err := dynamic.NewForConfig(conf)
	b.must(err)
	return client
}

func reads(names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, ResourceNames: names}
}

// hostile is the kubeconfig of a control plane whose answers never end.
func hostile(t *testing.T) string {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for chunk := []byte(strings.Repeat(" ", 1<<20)); r.Context().Err() == nil; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": server.URL, "certificate-authority-data": ca}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": "canary"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A cluster is connected for whoever may read its credential and the token, and for nobody
// else; what is wrong is on the object.
func TestAClusterIsConnectedForThoseWhoMayReadItsCredential(t *testing.T) {
	b := newFindBed(t)
	const team, others, made, token = "found-team", "found-others", "found-made", "axle_" + "0123456789012345678901234567890123456789012"
	for _, name := range []string{team, others, made} {
		b.namespace(name)
		b.secret(name, "hub", corev1.SecretTypeOpaque, "token", token+"\n")
	}
	const typed = "cluster.x-k8s.io/secret"
	for _, name := range []string{"edge-1", "edge-2", "full", "taken", "garbage", "spare"} {
		b.cluster(team, name, b.admin, typed)
	}
	b.cluster(team, "opaque", b.admin, corev1.SecretTypeOpaque)
	b.cluster(team, "runs", strings.Replace(b.admin, "users:", "users:\n- {name: x, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: canary, interactiveMode: Never}}}", 1), typed)
	b.cluster(team, "endless", hostile(t), typed)
	b.cluster(team, "rotated", strings.Replace(b.admin, "token:", "token: old", 1), typed)
	b.cluster(others, "prod", b.admin, typed)
	b.cluster(made, "web", b.admin, typed)
	b.secret(team, "else", corev1.SecretTypeOpaque, "token", "a password")

	b.create(team, object("before", "edge-1", "hub", ""))
	enforced := b.run(&agentv1.ServiceSpec{Id: "svc-1", Namespace: made, MakesCluster: "web"})
	b.ready(team, "before", "Undecided", "delete it, and create it again")
	enforced()

	// Tenants at the API server.
	writer := b.tenant(team, "writer", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create", "update"}}).Resource(found).Namespace(team)
	reader := b.tenant(team, "reader", reads("edge-2-kubeconfig", "hub")).Resource(found).Namespace(team)
	b.create(team, object("edge-2", "spare", "none", ""))
	eventually.For(t, time.Minute, "the API server asks the policy", func() error {
		_, err := writer.Create(t.Context(), object("asked", "edge-1", "hub", ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "axle-capi-clusters") {
			return nil
		}
		return fmt.Errorf("a dry run by somebody who may not: %v", err)
	})
	for what, do := range map[string]func() error{
		"may read no Secret": func() error {
			_, err := writer.Create(t.Context(), object("a", "edge-1", "hub", ""), metav1.CreateOptions{})
			return err
		},
		"may read that of another Cluster": func() error {
			_, err := reader.Create(t.Context(), object("b", "edge-1", "hub", ""), metav1.CreateOptions{})
			return err
		},
		"may not read the token": func() error {
			_, err := reader.Create(t.Context(), object("c", "edge-2", "else", ""), metav1.CreateOptions{})
			return err
		},
		"names no Cluster": func() error {
			_, err := reader.Create(t.Context(), object("d", "", "hub", ""), metav1.CreateOptions{})
			return err
		},
		"changes the Cluster of an object": func() error {
			_, err := reader.Patch(t.Context(), "edge-2", types.MergePatchType, []byte(`{"spec": {"capiClusterRef": {"name": "taken"}}}`), metav1.PatchOptions{})
			return err
		},
		"changes the token of an object": func() error {
			_, err := reader.Patch(t.Context(), "edge-2", types.MergePatchType, []byte(`{"spec": {"consoleTokenSecretRef": {"name": "hub"}}}`), metav1.PatchOptions{})
			return err
		},
		"changes a tag of an object": func() error {
			_, err := writer.Patch(t.Context(), "edge-2", types.MergePatchType, []byte(`{"spec": {"cluster": {"tags": {"tier": "prod"}}}}`), metav1.PatchOptions{})
			return err
		},
	} {
		if err := do(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "axle-capi-clusters") {
			t.Errorf("who %s: %v", what, err)
		}
	}
	if _, err := writer.Patch(t.Context(), "edge-2", types.MergePatchType, []byte(`{"metadata": {"labels": {"axle": "prod"}}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("a label buys nothing, and is refused: %v", err)
	}
	if _, err := reader.Create(t.Context(), object("two", "edge-2", "hub", ""), metav1.CreateOptions{}); err != nil {
		t.Errorf("who may read both: %v", err)
	}

	// What the agent and the hub refuse.
	b.hub.mu.Lock()
	b.hub.errs["full"], b.hub.errs["taken"] = errcode.New(errcode.Forbidden, "the bootstrap token was used up"), errcode.New(errcode.Conflict, "cluster taken exists already")
	b.hub.errs["two"], b.hub.errs["edge-2"] = errcode.New(errcode.Unavailable, "the hub is away"), errcode.New(errcode.Unavailable, "the hub is away")
	b.hub.mu.Unlock()
	for _, c := range []struct{ namespace, name, cluster, token, more, reason, text string }{
		{team, "full", "full", "hub", "", "Refused", "was used up"},
		{team, "taken", "taken", "hub", "", "Conflict", "exists already"},
		{team, "garbage", "garbage", "else", "", "Invalid", "holds no bootstrap token"},
		{team, "opaque", "opaque", "hub", "", "Invalid", "has the type Opaque"},
		{team, "runs", "runs", "hub", "", "Invalid", "runs a program"},
		{team, "endless", "endless", "hub", "", "Error", "does not answer"},
		{team, "rotated", "rotated", "hub", "", "Error", "does not answer"},
		{team, "none", "none", "hub", "", "Waiting", "no Cluster found-team/none"},
		{team, "values", "edge-1", "hub", `, "agent": {"chartName": "mine"}, "cluster": {"metadata": {"a": 1}, "bindings": {"write": []}}`, "Unsupported", "spec.cluster.metadata, spec.cluster.bindings, spec.agent"},
		{made, "web", "web", "hub", "", "Refused", "makes from a template"},
	} {
		b.create(c.namespace, object(c.name, c.cluster, c.token, c.more))
		b.ready(c.namespace, c.name, c.reason, c.text)
	}
	eventually.For(t, time.Minute, "a second object of a Cluster that is younger by the clock of the API server", func() error {
		o, err := b.client.Resource(found).Namespace(team).Get(t.Context(), "taken", metav1.GetOptions{})
		if err == nil && time.Since(o.GetCreationTimestamp().Time) < 2*time.Second {
			err = fmt.Errorf("the first is of %s", o.GetCreationTimestamp())
		}
		return err
	})
	b.create(team, object("younger", "taken", "hub", ""))
	b.ready(team, "younger", "Conflict", "PluralCAPICluster taken is for the same Cluster")
	elsewhere := object("elsewhere", "prod", "hub", "")
	b.must(unstructured.SetNestedField(elsewhere.Object, others, "spec", "capiClusterRef", "namespace"))
	b.create(team, elsewhere)
	b.ready(team, "elsewhere", "Refused", "of its own namespace")
	if _, err := b.api.AppsV1().Deployments("axle-system").Get(t.Context(), "axle-agent", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("an agent was installed: %v", err)
	}
	b.hub.mu.Lock()
	for _, asked := range b.hub.asked {
		if asked.GetBootstrapToken() != token || asked.GetName() != "full" && asked.GetName() != "taken" && asked.GetName() != "two" && asked.GetName() != "edge-2" {
			t.Errorf("the hub was asked for %s with %s", asked.GetName(), asked.GetBootstrapToken())
		}
	}
	b.hub.mu.Unlock()

	// Who may, and what the hub gets.
	b.create(team, object("edge-1", "edge-1", "hub", `, "cluster": {"handle": "one", "tags": {"tier": "edge"}}`))
	b.ready(team, "edge-1", "Waiting", "has not registered yet")
	b.hub.mu.Lock()
	asked := b.hub.asked[len(b.hub.asked)-1]
	b.hub.mu.Unlock()
	cluster, err := b.client.Resource(clusters).Namespace(team).Get(t.Context(), "edge-1", metav1.GetOptions{})
	b.must(err)
	if asked.GetName() != "edge-1" || asked.GetHandle() != "one" || asked.GetTags()["tier"] != "edge" || asked.GetUid() != string(cluster.GetUID()) || asked.GetBootstrapToken() != token {
		t.Errorf("the hub was asked for %v", asked)
	}
	b.secret("axle-system", "axle-agent-identity", corev1.SecretTypeOpaque, "identity.json", `{"clusterID": "cl_1"}`)
	b.ready(team, "edge-1", "Connected", "is registered")
	o, err := b.client.Resource(found).Namespace(team).Get(t.Context(), "edge-1", metav1.GetOptions{})
	b.must(err)
	if id, _, _ := unstructured.NestedString(o.Object, "status", "id"); id != "cl_1" {
		t.Errorf("its id is %q", id)
	}

	// A kubeconfig is rotated by deleting its Secret; the next one is used.
	b.must(b.api.CoreV1().Secrets(team).Delete(t.Context(), "rotated-kubeconfig", metav1.DeleteOptions{}))
	b.secret(team, "rotated-kubeconfig", typed, "value", b.admin)
	b.ready(team, "rotated", "Connected", "is registered")
	list, err := b.client.Resource(found).List(t.Context(), metav1.ListOptions{})
	b.must(err)
	if text, err := json.Marshal(list); err != nil || strings.Contains(string(text), "canary") || strings.Contains(string(text), token) {
		t.Errorf("the objects have a secret: %s, %v", text, err)
	}

	// A policy that was weakened is made anew, and nobody decided about the objects of before.
	policies := b.api.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	before, err := policies.Get(t.Context(), "axle-capi-clusters", metav1.GetOptions{})
	b.must(err)
	_, err = policies.Patch(t.Context(), before.Name, types.JSONPatchType, []byte(`[{"op": "replace", "path": "/spec/validations/0/expression", "value": "true"}]`), metav1.PatchOptions{})
	b.must(err)
	b.create(team, object("sly", "edge-1", "hub", ""))
	b.ready(team, "sly", "Undecided", "delete it")
	after, err := policies.Get(t.Context(), "axle-capi-clusters", metav1.GetOptions{})
	b.must(err)
	if after.UID == before.UID || after.Spec.Validations[0].Expression == "true" {
		t.Error("the policy is as weak as before")
	}
	// Clusters that are connected stay what they are, also for an agent that was started again.
	b.run(&agentv1.ServiceSpec{Id: "svc-1", Namespace: made, MakesCluster: "web"})
	for _, name := range []string{"opaque", "runs", "younger"} { // which no agent connects
		b.ready(team, name, "Undecided", "delete it")
	}
	b.ready(team, "edge-1", "Connected", "is registered")
}
