package provider_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/test/capi"
	"github.com/axle-cd/axle/test/capi/provider"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/world"
)

// bed is a management cluster with the core and the provider, in a world with a hub.
type bed struct {
	*testing.T
	world    *world.World
	client   dynamic.Interface
	core     kubernetes.Interface
	applier  *kubeapply.Applier
	manager  *capi.Manager
	provider *provider.Provider
	agent    *world.Agent // of the management cluster
	// namespace and name are those of the cluster that is looked at.
	namespace, name string
}

// management is the cluster that the manager and the provider work for.
const management = "management"

func newBed(t *testing.T) *bed {
	w, err := world.Start(t.Context(), world.Config{Clusters: []string{management}, Controllers: true, Hub: []string{"--agent-image", world.AgentImage}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Logf("end of the world: %v", err)
		}
	})
	on := w.Cluster(management)
	// In each cluster that is made, an agent can run as in any other.
	each := kube.ClusterConfig{Controllers: true, Binaries: w.AgentBinaries()}
	b := &bed{T: t, world: w, manager: capi.Start(t, on), provider: provider.Start(t, on, each)}
	b.applier, err = kubeapply.New(on.Config())
	b.must(err)
	b.client = b.applier.Client
	b.core, err = kubernetes.NewForConfig(on.Config())
	b.must(err)
	b.must(w.Login(t.Context()))
	b.agent, err = w.ConnectProcess(t.Context(), management, world.AgentOptions{})
	b.must(err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the agent's log:\n%s", b.agent.Tail())
		}
	})
	return b
}

// of is the bed for a test of one cluster.
func (b *bed) of(t *testing.T, namespace, name string) *bed {
	with := *b
	with.T, with.namespace, with.name = t, namespace, name
	return &with
}

// class puts the class of the template into the namespace.
func (b *bed) class() {
	b.Helper()
	_, err := b.core.CoreV1().Namespaces().Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}, metav1.CreateOptions{})
	b.must(err)
	files, err := filepath.Glob("../../../deploy/bed/class/*.yaml")
	b.must(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		b.must(err)
		objects, err := kubeapply.Documents(text)
		b.must(err)
		for _, o := range objects {
			o.SetNamespace(b.namespace)
			b.must(b.applier.Apply(b.Context(), o, "test"))
		}
	}
	// Before that, the webhooks take any variable.
	eventually.For(b, time.Minute, "the variables of the class", func() error {
		o, err := b.client.Resource(classes).Namespace(b.namespace).Get(b.Context(), "bed", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return isTrue(o, "VariablesReady")
	})
}

// isTrue is an error while a condition of an object is not true.
func isTrue(o *unstructured.Unstructured, condition string) error {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == condition && c["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("it is not %s: %v", condition, list)
}

func (b *bed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func resource(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

var (
	clusters      = resource("cluster.x-k8s.io", "v1beta2", "clusters")
	classes       = resource("cluster.x-k8s.io", "v1beta2", "clusterclasses")
	machines      = resource("cluster.x-k8s.io", "v1beta2", "machines")
	bedMachines   = resource("infrastructure.cluster.x-k8s.io", "v1alpha1", "bedmachines")
	bedClusters   = resource("infrastructure.cluster.x-k8s.io", "v1alpha1", "bedclusters")
	controlPlanes = resource("controlplane.cluster.x-k8s.io", "v1alpha1", "bedcontrolplanes")
	bedConfigs    = resource("bootstrap.cluster.x-k8s.io", "v1alpha1", "bedconfigs")
)

// cluster is one of the template, with a value for its variable region.
func (b *bed) cluster(region string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": map[string]any{"name": b.name},
		"spec": map[string]any{"topology": map[string]any{
			"classRef": map[string]any{"name": "bed"}, "version": "v1.36.2",
			"variables": []any{map[string]any{"name": "region", "value": region}},
			"workers": map[string]any{"machineDeployments": []any{
				map[string]any{"class": "workers", "name": "pool", "replicas": int64(1)},
			}},
		}},
	}}
}

// set changes a field of the cluster's topology.
func (b *bed) set(patch string) {
	b.Helper()
	_, err := b.client.Resource(clusters).Namespace(b.namespace).Patch(b.Context(), b.name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	b.must(err)
}

// wait waits for the Cluster to be Available with so many workers of a version, and for the
// Nodes that the API server has.
func (b *bed) wait(workers int64, version string) {
	b.Helper()
	began := time.Now()
	defer func() {
		b.Logf("%d workers of %s after %v", workers, version, time.Since(began).Round(100*time.Millisecond))
	}()
	eventually.For(b, 2*time.Minute, fmt.Sprintf("%d workers of %s", workers, version), func() error {
		o, err := b.client.Resource(clusters).Namespace(b.namespace).Get(b.Context(), b.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		if !slices.ContainsFunc(conditions, func(c any) bool {
			return c.(map[string]any)["type"] == "Available" && c.(map[string]any)["status"] == "True"
		}) {
			return fmt.Errorf("it is not available: %v", conditions)
		}
		for _, count := range []string{"replicas", "availableReplicas", "upToDateReplicas"} {
			if have, _, _ := unstructured.NestedInt64(o.Object, "status", "workers", count); have != workers {
				return fmt.Errorf("%s is %d", count, have)
			}
		}
		return b.nodes(int(workers), version)
	})
}

// nodes compares the Nodes, read by the kubeconfig that the provider wrote.
func (b *bed) nodes(workers int, version string) error {
	config, err := b.kubeconfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	list, err := client.CoreV1().Nodes().List(b.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	// The node on which pods run is no machine.
	list.Items = slices.DeleteFunc(list.Items, func(n corev1.Node) bool { return !strings.HasPrefix(n.Spec.ProviderID, "bed://") })
	if len(list.Items) != workers {
		return fmt.Errorf("the API server has %d nodes", len(list.Items))
	}
	for _, n := range list.Items {
		if n.Status.NodeInfo.KubeletVersion != version || n.Labels[corev1.LabelTopologyRegion] != "us" || n.Labels[corev1.LabelInstanceTypeStable] != "small" {
			return fmt.Errorf("node %s is %s with labels %v", n.Name, n.Status.NodeInfo.KubeletVersion, n.Labels)
		}
	}
	return nil
}

// kubeconfig is the one that the provider wrote.
func (b *bed) kubeconfig() (*rest.Config, error) {
	secret, err := b.core.CoreV1().Secrets(b.namespace).Get(b.Context(), b.name+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if secret.Type != "cluster.x-k8s.io/secret" {
		return nil, fmt.Errorf("the Secret with the kubeconfig is %s", secret.Type)
	}
	return clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
}

// watchAddress keeps a connection to the control plane. The function returned waits for its end,
// and for the address to refuse a new one: a client of before never reaches whoever has the API
// server next.
func (b *bed) watchAddress() (ended func()) {
	b.Helper()
	config, err := b.kubeconfig()
	b.must(err)
	client, err := kubernetes.NewForConfig(config)
	b.must(err)
	open, err := client.CoreV1().ConfigMaps("").Watch(b.Context(), metav1.ListOptions{})
	b.must(err)
	b.Cleanup(open.Stop)
	return func() {
		b.Helper()
		// A client notices by itself after 45 s that nothing answers.
		for limit := time.After(eventually.Loaded(10 * time.Second)); ; {
			select {
			case _, more := <-open.ResultChan():
				if more {
					continue
				}
			case <-limit:
				b.Error("a connection to the control plane is open after its end")
			}
			break
		}
		if _, err := client.Discovery().ServerVersion(); !errors.Is(err, syscall.ECONNREFUSED) {
			b.Errorf("the address of a control plane that has ended answers %v", err)
		}
	}
}

// All tests of one manager. It is dear, so there is one.
func TestClustersOfTheTemplate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	t.Run("by hand", func(t *testing.T) { byHand(t, b.of(t, "team", "shop")) })
	t.Run("by the hub", func(t *testing.T) { byTheHub(t, b) })
}

// A cluster of the template becomes a real API server, is scaled while the manager is killed,
// takes another version, and goes in order, with nothing left.
func byHand(t *testing.T, b *bed) {
	b.class()
	in := b.client.Resource(clusters).Namespace(b.namespace)

	_, err := in.Create(t.Context(), b.cluster("mars"), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `spec.topology.variables[region].value: Unsupported value: "\"mars\""`) {
		t.Fatalf("a region that is not in the schema: %v", err)
	}

	_, err = in.Create(t.Context(), b.cluster("us"), metav1.CreateOptions{})
	b.must(err)
	b.wait(1, "v1.36.2")
	if b.provider.Cluster(b.namespace, b.name) == nil {
		t.Error("the provider does not know the control plane")
	}

	b.set(`[{"op":"replace","path":"/spec/topology/workers/machineDeployments/0/replicas","value":2}]`)
	b.must(b.manager.Restart(t.Context()))
	b.wait(2, "v1.36.2")

	b.set(`[{"op":"replace","path":"/spec/topology/version","value":"v1.36.3"}]`)
	b.wait(2, "v1.36.3")

	b.brought(t)

	deleted, addressEnds := b.watchDeletions(), b.watchAddress()
	b.must(in.Delete(t.Context(), b.name, metav1.DeleteOptions{}))
	eventually.For(t, 2*time.Minute, "the end of the cluster", b.left)
	addressEnds()
	order := deleted(2)
	for _, step := range [][2]schema.GroupVersionResource{{bedMachines, controlPlanes}, {machines, controlPlanes}, {controlPlanes, bedClusters}, {bedClusters, clusters}} {
		first, then := order[step[0].Resource], order[step[1].Resource]
		if slices.Max(first) >= slices.Min(then) {
			t.Errorf("%s were deleted at %v, and %s at %v", step[0].Resource, first, step[1].Resource, then)
		}
	}

	b.must(b.core.CoreV1().Namespaces().Delete(t.Context(), b.namespace, metav1.DeleteOptions{}))
	eventually.For(t, time.Minute, "the end of the namespace", func() error {
		_, err := b.core.CoreV1().Namespaces().Get(t.Context(), b.namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %w", err)
	})
}

// left is an error while there is anything of the cluster.
func (b *bed) left() error {
	if b.provider.Cluster(b.namespace, b.name) != nil {
		return errors.New("its API server runs")
	}
	for _, r := range []schema.GroupVersionResource{clusters, machines, bedClusters, controlPlanes, bedMachines, bedConfigs, resource("", "v1", "secrets")} {
		list, err := b.client.Resource(r).Namespace(b.namespace).List(b.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("%s: %s is there", r.Resource, list.Items[0].GetName())
		}
	}
	return nil
}

// watchDeletions notes the revision at which each object of a cluster is deleted from now on.
// The function returned waits for those of a cluster with so many machines.
func (b *bed) watchDeletions() func(workers int) map[string][]int {
	b.Helper()
	counts := map[schema.GroupVersionResource]func(int) int{}
	one := func(int) int { return 1 }
	each := func(workers int) int { return workers }
	counts[clusters], counts[bedClusters], counts[controlPlanes], counts[machines], counts[bedMachines] = one, one, one, each, each
	watches := map[schema.GroupVersionResource]watch.Interface{}
	for r := range counts {
		list, err := b.client.Resource(r).Namespace(b.namespace).List(b.Context(), metav1.ListOptions{})
		b.must(err)
		watches[r], err = b.client.Resource(r).Namespace(b.namespace).Watch(b.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		b.must(err)
		b.Cleanup(watches[r].Stop)
	}
	return func(workers int) map[string][]int {
		b.Helper()
		deleted := map[string][]int{}
		for r, count := range counts {
			for event := range watches[r].ResultChan() {
				if o, ok := event.Object.(*unstructured.Unstructured); ok && event.Type == watch.Deleted {
					revision, err := strconv.Atoi(o.GetResourceVersion())
					b.must(err)
					deleted[r.Resource] = append(deleted[r.Resource], revision)
				}
				if len(deleted[r.Resource]) == count(workers) {
					break
				}
			}
			if len(deleted[r.Resource]) != count(workers) {
				b.Fatalf("%s: deleted at %v", r.Resource, deleted[r.Resource])
			}
		}
		return deleted
	}
}
