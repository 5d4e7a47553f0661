package proxy_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	helmcommon "helm.sh/helm/v4/pkg/release/common"
	helm "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/pages"
)

// The objects of services: versions that Kubernetes 1.36 serves when asked to, and 1.37 removes.
const (
	networkOld = `apiVersion: networking.k8s.io/v1beta1
kind: ServiceCIDR
metadata: {name: more}
spec: {cidrs: ["10.99.0.0/24"]}
---
apiVersion: networking.k8s.io/v1beta1
kind: IPAddress
metadata: {name: 10.99.0.9}
spec: {parentRef: {resource: services, namespace: default, name: kubernetes}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stays, namespace: default}
`
	storageOld = `apiVersion: storage.k8s.io/v1beta1
kind: VolumeAttributesClass
metadata: {name: vault-gold}
driverName: csi.example.com
parameters: {iops: "100"}
`
	releaseText = `---
# Source: shop/templates/hpa.yaml
apiVersion: autoscaling/v2beta2
kind: HorizontalPodAutoscaler
metadata: {name: shop-web}
---
# Source: shop/templates/secret.yaml
apiVersion: v1
kind: Secret
metadata: {name: shop}
stringData: {password: planted-4711}
`
)

// chartTakes are the versions of Kubernetes that the charts of releases take.
var chartTakes = map[string]string{"fine": ">=1.21.0-0", "odd": "<1.37" + strings.Repeat("é", 300), "shop": ">=1.21.0-0 <1.37.0-0"}

// readied is a hub, an agent and an API server that serves what the next version removes.
type readied struct {
	*whole
	api    kubernetes.Interface
	kube   *kube.Cluster
	reader *sdk.Client
	// folder is where the commands of the page run.
	folder string
}

func newReadied(t *testing.T) *readied {
	t.Helper()
	c, err := kube.Lease(t.Context(), kube.ClusterConfig{Serves: []string{"networking.k8s.io/v1beta1", "storage.k8s.io/v1beta1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := letAdministrate(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	r := &readied{whole: newWholeOn(t, c), kube: c, folder: t.TempDir()}
	if r.api, err = kubernetes.NewForConfig(c.Config()); err != nil {
		t.Fatal(err)
	}
	must(t)(r.client.ServiceAccounts.Create(t.Context(), connect.NewRequest(&hubv1.CreateServiceAccountRequest{Name: "reader"})))
	must(t)(r.client.Bindings.Create(t.Context(), connect.NewRequest(&hubv1.CreateBindingRequest{
		SubjectKind: "service_account", Subject: "reader", Actions: []string{"read"}, Place: &hubv1.Place{Cluster: "edge"},
	})))
	token, err := r.client.ServiceAccounts.CreateToken(t.Context(), connect.NewRequest(&hubv1.CreateServiceAccountTokenRequest{Account: "reader", Name: "test"}))
	if err != nil {
		t.Fatal(err)
	}
	if r.reader, err = sdk.New(sdk.Config{URL: r.hub.URL, Token: token.Msg.GetSecret(), CAPEM: r.ca}); err != nil {
		t.Fatal(err)
	}
	return r
}

// must fails the test if a call did.
func must(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (r *readied) ask(client *sdk.Client, to string) *hubv1.ReadinessResponse {
	r.t.Helper()
	answer, err := client.Clusters.Readiness(r.t.Context(), connect.NewRequest(&hubv1.ReadinessRequest{Name: "edge", To: to}))
	if err != nil {
		r.t.Fatal(err)
	}
	return answer.Msg
}

// found are the findings of an answer, as CHECK [service|release] KIND NAME, and how many of
// each check are not shown.
func found(answer *hubv1.ReadinessResponse) (all []string) {
	for _, c := range answer.GetChecks() {
		for _, f := range c.GetFindings() {
			all = append(all, strings.Join(strings.Fields(fmt.Sprint(c.GetName(), " ", f.GetService(), " ", f.GetRelease(), " ", f.GetKind(), " ", f.GetName())), " "))
		}
		if c.GetNotShown() > 0 {
			all = append(all, fmt.Sprintf("%s %d not shown", c.GetName(), c.GetNotShown()))
		}
	}
	slices.Sort(all)
	return all
}

// states are the states of the checks that did not pass.
func states(answer *hubv1.ReadinessResponse) map[string]string {
	all := map[string]string{}
	for _, c := range answer.GetChecks() {
		if c.GetState() != "Passed" {
			all[c.GetName()] = c.GetState()
		}
	}
	return all
}

// release writes a release as Helm's driver does.
func (r *readied) release(namespace, name string, revision int, status helmcommon.Status, manifest string) {
	r.t.Helper()
	of := &chart.Metadata{Name: name + "-chart", Version: "1.2." + strconv.Itoa(revision), KubeVersion: chartTakes[name]}
	text, err := json.Marshal(&helm.Release{Name: name, Namespace: namespace, Version: revision, Manifest: manifest, Info: &helm.Info{Status: status}, Chart: &chart.Chart{Metadata: of}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.record(namespace, name, revision, status, text)
}

func (r *readied) record(namespace, name string, revision int, status helmcommon.Status, text []byte) {
	r.t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(text)
	if err = errors.Join(err, z.Close()); err != nil {
		r.t.Fatal(err)
	}
	must(r.t)(r.api.CoreV1().Secrets(namespace).Create(r.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision), Labels: map[string]string{
			"owner": "helm", "name": name, "status": string(status), "version": fmt.Sprint(revision),
		}},
		Type: "helm.sh/release.v1", Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))},
	}, metav1.CreateOptions{}))
}

// fieldReleases writes releases as people have them: one that Helm keeps in a ConfigMap, one
// whose hook only has a removed version, and one with two revisions that are deployed.
func (r *readied) fieldReleases(namespace string) {
	r.t.Helper()
	r.release(namespace, "fine", 1, "deployed", releaseText)
	text, err := json.Marshal(&helm.Release{Name: "hooked", Version: 1, Info: &helm.Info{Status: "deployed"}, Hooks: []*helm.Hook{{Path: "hooked/templates/hook.yaml", Manifest: releaseText}}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.record(namespace, "hooked", 1, "deployed", text)
	r.release(namespace, "old", 1, "deployed", strings.ReplaceAll(releaseText, "shop-web", "shop-old"))
	secrets := r.api.CoreV1().Secrets(namespace)
	kept, err := secrets.Get(r.t.Context(), "sh.helm.release.v1.old.v1", metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := secrets.Delete(r.t.Context(), kept.Name, metav1.DeleteOptions{}); err != nil {
		r.t.Fatal(err)
	}
	_, err = r.api.CoreV1().ConfigMaps(namespace).Create(r.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: kept.Name, Labels: kept.Labels}, Data: map[string]string{"release": string(kept.Data["release"])},
	}, metav1.CreateOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
}

// services delivers the objects of two services, one of a project of administrators only.
func (r *readied) services() {
	t := r.t
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
	must(t)(git.Commit(t.Context(), "fleet", "main", "services", map[string]gitserver.Content{
		"network/all.yaml": gitserver.Content(networkOld), "vault/all.yaml": gitserver.Content(storageOld),
	}))
	must(t)(r.client.Projects.Create(t.Context(), connect.NewRequest(&hubv1.CreateProjectRequest{Name: "vault", AdministratorsOnly: true})))
	must(t)(r.client.Repositories.Create(t.Context(), connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: "fleet", Url: git.URL("fleet")})))
	for name, project := range map[string]string{"network": "", "vault": "vault"} {
		must(t)(r.client.Services.Create(t.Context(), connect.NewRequest(&hubv1.CreateServiceRequest{
			Ref: &hubv1.ServiceRef{Cluster: "edge", Name: name}, Project: project, Spec: &hubv1.ServiceSpec{Repository: "fleet", Git: &hubv1.Git{Ref: "main", Folder: name}},
		})))
	}
	eventually.For(t, limit, "both services are applied", func() error {
		for _, name := range []string{"network", "vault"} {
			s, err := r.client.Services.Get(t.Context(), connect.NewRequest(&hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge", Name: name}}))
			if err != nil {
				return err
			}
			if s.Msg.GetSync() != "Synced" {
				return fmt.Errorf("%s is %v", name, s.Msg)
			}
		}
		return nil
	})
}

// others puts into the cluster what no service has: a budget that lets no pod go beside one that
// does, and a node that is too old.
func (r *readied) others(namespace string) {
	t, zero, one, half := r.t, intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromString("50%")
	selector, pair := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "pair"}}
	r.running(namespace, "pair")
	for name, spec := range map[string]policyv1.PodDisruptionBudgetSpec{
		"never": {MaxUnavailable: &zero, Selector: selector}, "rounded": {MinAvailable: &half, Selector: selector}, "moves": {MaxUnavailable: &one, Selector: selector}, "empty": {MaxUnavailable: &zero, Selector: selector},
		"pair": {MaxUnavailable: &one, Selector: pair}, "pairs": {MaxUnavailable: &half, Selector: pair}, "unscaled": {MaxUnavailable: &half, Selector: selector},
	} {
		b, err := r.api.PolicyV1().PodDisruptionBudgets(namespace).Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// What the disruption controller reports.
		b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, ExpectedPods: 1, DesiredHealthy: 1, CurrentHealthy: 1}
		switch name {
		case "moves":
			b.Status.DesiredHealthy = 0 // none is healthy now, and one may go when it is
			b.Status.CurrentHealthy = 0
		case "pair", "pairs":
			b.Status.DesiredHealthy, b.Status.DisruptionsAllowed = 0, 1
		case "unscaled":
			b.Status = policyv1.PodDisruptionBudgetStatus{Conditions: []metav1.Condition{{
				Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: "queues.example.com does not implement the scale subresource", LastTransitionTime: metav1.Now(),
			}}}
		case "empty":
			b.Status.ExpectedPods, b.Status.DesiredHealthy, b.Status.CurrentHealthy = 0, 0, 0
		}
		must(t)(r.api.PolicyV1().PodDisruptionBudgets(namespace).UpdateStatus(t.Context(), b, metav1.UpdateOptions{}))
	}
	for name, kubelet := range map[string]string{"old": "v1.33.9", "new": "v1.34.1"} {
		n, err := r.api.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n.Status.NodeInfo.KubeletVersion = kubelet
		must(t)(r.api.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}))
	}
}

// running makes a pod that runs.
func (r *readied) running(namespace, app string) {
	pods := r.api.CoreV1().Pods(namespace)
	_, err := r.api.CoreV1().ServiceAccounts(namespace).Create(r.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		r.t.Fatal(err)
	}
	pod, err := pods.Create(r.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: app, Labels: map[string]string{"app": app}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodRunning
	must(r.t)(pods.UpdateStatus(r.t.Context(), pod, metav1.UpdateOptions{}))
}

// TestReadinessNamesAllThatSpeaksAgainstAVersion is about one cluster, first empty and then with
// what stands against Kubernetes 1.37, for an administrator and for who may read the cluster.
func TestReadinessNamesAllThatSpeaksAgainstAVersion(t *testing.T) {
	t.Parallel()
	r := newReadied(t)
	empty := r.ask(r.client, "1.37")
	if empty.GetResult() != "Ready" || len(states(empty)) > 0 {
		t.Errorf("an empty cluster: %v", empty)
	}
	if out, errs, err := r.command(r.axle, "clusters", "readiness", "edge", "--to", "1.37"); err != nil || !strings.Contains(errs, "Ready for 1.37\n") {
		t.Errorf("an empty cluster by the command: %v\n%s%s", err, out, errs)
	}
	r.addons(t)
	namespace := r.kube.Namespace(t)
	r.services()
	r.others(namespace)
	r.release(namespace, "grid", 1, "deployed", "")
	r.clusterRole(namespace, "grid", "grid-chart-1.2.1")
	// Only what is deployed counts, and of it the newest.
	r.release(namespace, "shop", 1, "superseded", strings.ReplaceAll(releaseText, "shop-web", "shop-before"))
	r.release(namespace, "shop", 2, "deployed", releaseText)
	r.release(namespace, "shop", 3, "failed", strings.ReplaceAll(releaseText, "shop-web", "shop-failed"))
	r.release(namespace, "fine", 2, "deployed", strings.ReplaceAll(releaseText, "autoscaling/v2beta2", "autoscaling/v2"))
	r.release(namespace, "odd", 1, "deployed", "") // its texts are cut within a character
	r.fieldReleases(namespace)
	budgets, nodes := []string{"budgets PodDisruptionBudget never", "budgets PodDisruptionBudget pair", "budgets PodDisruptionBudget pairs", "budgets PodDisruptionBudget rounded", "budgets PodDisruptionBudget unscaled"}, []string{"nodes Node old"}
	requested := []string{"requested IPAddress", "requested ServiceCIDR", "requested VolumeAttributesClass"}
	releases := []string{"releases hooked HorizontalPodAutoscaler shop-web", "releases old HorizontalPodAutoscaler shop-old", "releases shop HorizontalPodAutoscaler shop-web"}
	network := []string{"applied network IPAddress 10.99.0.9", "applied network ServiceCIDR more"}
	eventually.For(t, limit, "the API server knows the binding of administrators", func() error {
		if nodes := r.ask(r.client, "1.37").GetChecks()[5]; nodes.GetNotShown() > 0 {
			return fmt.Errorf("%s", nodes.GetMessage())
		}
		return nil
	})
	all := r.ask(r.client, "1.37")
	if want := slices.Sorted(slices.Values(slices.Concat(network, []string{"applied vault VolumeAttributesClass vault-gold", "addons grid", "charts shop"}, budgets, nodes, releases, requested))); all.GetResult() != "NotReady" || !slices.Equal(found(all), want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(found(all), "\n"), strings.Join(want, "\n"))
	}
	r.says(all)
	t.Run("who may read the cluster", func(t *testing.T) {
		seen := r.ask(r.reader, "1.37")
		hidden := []string{"addons 1 not shown", "charts 1 not shown", "applied 1 not shown", "budgets 5 not shown", "nodes 1 not shown", "releases 3 not shown"}
		if want := slices.Sorted(slices.Values(slices.Concat(network, hidden, requested))); seen.GetResult() != "NotReady" || !slices.Equal(found(seen), want) {
			t.Errorf("found\n%s\nwant\n%s", strings.Join(found(seen), "\n"), strings.Join(want, "\n"))
		}
		if text := seen.String(); strings.Contains(text, "vault") || strings.Contains(text, namespace) {
			t.Errorf("the answer names what the caller may not read: %s", text)
		}
		if message := seen.GetChecks()[1].GetMessage(); message != "not shown: 1 about services that you may not read" {
			t.Errorf("the check of objects of services says %q", message)
		}
		letRead(t, r.kube, namespace)
		seen = r.ask(r.reader, "1.37")
		if want := slices.Sorted(slices.Values(slices.Concat(network, budgets, releases, requested, []string{"addons grid", "charts shop", "applied 1 not shown", "nodes 1 not shown"}))); !slices.Equal(found(seen), want) {
			t.Errorf("with the cluster's leave found\n%s\nwant\n%s", strings.Join(found(seen), "\n"), strings.Join(want, "\n"))
		}
	})
	t.Run("who may not", r.strangers)
	t.Run("other versions", r.versions)
	t.Run("releases that nobody can read", func(t *testing.T) { r.damaged(t, namespace) })
	t.Run("the command", r.readinessCommand)
}

// says checks the texts of the findings.
func (r *readied) says(answer *hubv1.ReadinessResponse) {
	text := answer.String()
	if strings.Contains(text, "planted-4711") {
		r.t.Error("the answer has the value of a Secret")
	}
	for _, want := range []string{
		"networking.k8s.io/v1/ServiceCIDR", "storage.k8s.io/v1/VolumeAttributesClass", "autoscaling/v2/HorizontalPodAutoscaler", "shop/templates/hpa.yaml",
		"its chart shop-chart 1.2.2 takes Kubernetes >=1.21.0-0 <1.37.0-0, and so not 1.37", "maxUnavailable is 0", "it wants 1 of 1 pods available", "another budget selects a pod of it too", "does not implement the scale subresource", "v1.33.9, and may be at most 3 minor versions behind Kubernetes 1.37",
	} {
		if !strings.Contains(text, want) {
			r.t.Errorf("the answer does not say %q", want)
		}
	}
}

func (r *readied) strangers(t *testing.T) {
	must(t)(r.client.ServiceAccounts.Create(t.Context(), connect.NewRequest(&hubv1.CreateServiceAccountRequest{Name: "owner"})))
	must(t)(r.client.Bindings.Create(t.Context(), connect.NewRequest(&hubv1.CreateBindingRequest{
		SubjectKind: "service_account", Subject: "owner", Actions: []string{"write"}, Place: &hubv1.Place{Cluster: "edge", Service: "network"},
	})))
	token, err := r.client.ServiceAccounts.CreateToken(t.Context(), connect.NewRequest(&hubv1.CreateServiceAccountTokenRequest{Account: "owner", Name: "test", Scopes: []string{"write"}}))
	if err != nil {
		t.Fatal(err)
	}
	owner, err := sdk.New(sdk.Config{URL: r.hub.URL, Token: token.Msg.GetSecret(), CAPEM: r.ca})
	if err != nil {
		t.Fatal(err)
	}
	for name, cluster := range map[string]string{"the cluster of its service": "edge", "no cluster": "nowhere"} {
		answer, err := owner.Clusters.Readiness(t.Context(), connect.NewRequest(&hubv1.ReadinessRequest{Name: cluster, To: "1.37"}))
		if !errcode.Is(err, errcode.NotFound) {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
	}
}

func (r *readied) versions(t *testing.T) {
	same := r.ask(r.client, "v1.36.9")
	if slices.ContainsFunc(found(same), func(f string) bool { return strings.HasPrefix(f, "applied") || strings.HasPrefix(f, "requested") }) {
		t.Errorf("the cluster's own minor version removes nothing: %v", found(same))
	}
	for to, want := range map[string]string{"1.35": "no upgrade leads back", "1.36.1": "no upgrade leads back", "latest": "not a version of Kubernetes", "": "not a version of Kubernetes", "2.0": "not a version of Kubernetes"} {
		_, err := r.client.Clusters.Readiness(t.Context(), connect.NewRequest(&hubv1.ReadinessRequest{Name: "edge", To: to}))
		if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("to %q: %v, want %s", to, err, want)
		}
	}
	later := r.ask(r.client, "1.39")
	if first := later.GetChecks()[0]; first.GetState() != "Failed" || !strings.Contains(first.GetMessage(), "knows Kubernetes up to 1.37") || !strings.Contains(first.GetFindings()[0].GetMessage(), "is to 1.37") {
		t.Errorf("a version that skips some: %v", first)
	}
}

func (r *readied) damaged(t *testing.T, namespace string) {
	r.record(namespace, "bomb", 1, "deployed", bytes.Repeat([]byte(" "), 20<<20))
	r.record(namespace, "broken", 1, "deployed", []byte(`{"manifest":`))
	r.release(namespace, "aliased", 1, "deployed", "a: &a [autoscaling/v2beta2]\nb: &b ["+strings.Repeat("*a,", 1000)+"*a]\nc: ["+strings.Repeat("*b,", 1000)+"*b]\n")
	answer := r.ask(r.client, "1.37")
	message := answer.GetChecks()[3].GetMessage()
	for _, want := range []string{"bomb in " + namespace + " cannot be read: it is larger than 16 MiB", "broken in " + namespace + " cannot be read: it is not a record of Helm", "aliased in " + namespace + " cannot be read: a manifest in it is too large"} {
		if !strings.Contains(message, want) {
			t.Errorf("the check says %q, without %q", message, want)
		}
	}
	if f := answer.GetChecks()[3].GetFindings(); len(f) != 3 || f[2].GetRelease() != "shop" {
		t.Errorf("the other releases: %v", f)
	}
}

// page runs a block of the page about readiness, about the cluster of the test, in one folder.
func (r *readied) page(n int) (stdout, stderr string, err error) {
	blocks, err := pages.Script("../../docs/howto/check-readiness.md")
	if err != nil || len(blocks) != 3 {
		r.t.Fatalf("the page has %d blocks, and not to ask, to print a skeleton and to apply it: %v", len(blocks), err)
	}
	return r.command("bash", "-euo", "pipefail", "-c", "cd '"+r.folder+"'\n"+strings.ReplaceAll(blocks[n].Text, " edge-1 ", " edge "))
}

func (r *readied) readinessCommand(t *testing.T) {
	out, errs, err := r.page(0)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(errs, "NotReady for 1.37") || !strings.Contains(out, "ADD-ON") {
		t.Errorf("the command of the page: %v\n%s%s", err, out, errs)
	}
	out, errs, err = r.command(r.axle, "clusters", "readiness", "edge", "--to", "1.37", "-o", "wide")
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(errs, "NotReady for 1.37") {
		t.Errorf("%v: %s", err, errs)
	}
	for _, want := range []string{"applied    Failed", "service network", "networking.k8s.io/v1beta1/ServiceCIDR more", "/shop", "shop/templates/hpa.yaml", "policy/v1/PodDisruptionBudget ", "v1/Node old", "addons     Unknown", "charts     Warning", "ADD-ON", "grid-chart", "AddonUnknown"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table has no %q:\n%s", want, out)
		}
	}
	out, _, err = r.command(r.axle, "clusters", "readiness", "edge", "--to", "1.37", "-o", "json")
	var view struct{ Result string }
	if !errors.As(err, &exit) || json.Unmarshal([]byte(out), &view) != nil || view.Result != "NotReady" {
		t.Errorf("as JSON: %v\n%s", err, out)
	}
	if _, errs, err := r.command(r.axle, "clusters", "readiness", "edge"); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("without a version: %v %s", err, errs)
	}
}

// The question reaches the agent also from a replica that does not hold its tunnel.
func TestEachReplicaAsksTheAgent(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	for i, client := range r.clients {
		answer, err := client.Clusters.Readiness(t.Context(), connect.NewRequest(&hubv1.ReadinessRequest{Name: "edge", To: "1.37"}))
		if err != nil {
			t.Errorf("replica %d: %v", i, err)
			continue
		}
		if first := answer.Msg.GetChecks()[0]; answer.Msg.GetKubernetesVersion() == "" || first.GetState() != "Passed" {
			t.Errorf("replica %d answers %v", i, answer.Msg)
		}
	}
}
