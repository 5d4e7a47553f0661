package agent

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// kube is what renders and the hub need to know of the cluster. Its served kinds are
// read once, and again when a CRD or an APIService changes.
type kube struct {
	rest     *rest.Config
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
	clock    clock.Clock
	log      *slog.Logger

	mu     sync.Mutex
	served *served // nil until it is read
	stale  bool
	// told is the set of served kinds that run's caller knows.
	told render.Capabilities
	// lookups are the clients for services' lookups.
	lookups tenancy.Clients[dynamic.Interface]
}

// served is what the API server serves.
type served struct {
	caps    render.Capabilities
	partial string
	kinds   map[schema.GroupVersionKind]metav1.APIResource
}

func newKube(kubeconfig string, c clock.Clock, log *slog.Logger) (*kube, error) {
	conf, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	// The engine adapts to the API server's own answers.
	conf.QPS = -1
	conf.UserAgent = "axle-agent/" + buildinfo.Version
	k := &kube{rest: conf, clock: c, log: log}
	k.lookups.Make = func(cfg *rest.Config) (dynamic.Interface, error) { return dynamic.NewForConfig(cfg) }
	if k.client, err = kubernetes.NewForConfig(conf); err != nil {
		return nil, err
	}
	if k.dynamic, err = dynamic.NewForConfig(conf); err != nil {
		return nil, err
	}
	if k.metadata, err = metadata.NewForConfig(conf); err != nil {
		return nil, err
	}
	return k, nil
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		conf, err := rest.InClusterConfig()
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "this is not a pod of a cluster; give --kubeconfig: %w", err)
		}
		return conf, nil
	}
	conf, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "--kubeconfig: %w", err)
	}
	return conf, nil
}

// ensureNamespace creates the agent's namespace: an agent outside its cluster has no
// manifests that would.
func (k *kube) ensureNamespace(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, kubeTimeout)
	defer cancel()
	spaces := k.client.CoreV1().Namespaces()
	_, err := spaces.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		space := &corev1.Namespace{}
		space.Name, space.Labels = name, map[string]string{"app.kubernetes.io/part-of": "axle"}
		_, err = spaces.Create(ctx, space, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return kubeError("create namespace "+name, err)
	}
	return nil
}

// Capabilities implements poll.Cluster.
func (k *kube) Capabilities(ctx context.Context) (render.Capabilities, string, error) {
	s, err := k.serves(ctx)
	if err != nil {
		return render.Capabilities{}, "", err
	}
	return s.caps, s.partial, nil
}

// serves returns what is served, read again if it is unknown or stale. If that fails,
// the known set stays in use.
func (k *kube) serves(ctx context.Context) (*served, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.served != nil && !k.stale {
		return k.served, nil
	}
	s, err := k.discover(ctx)
	if err != nil {
		return nil, err
	}
	if k.served == nil {
		k.told = s.caps
	}
	// If an aggregated API is broken, the next pass reads again.
	k.served, k.stale = s, s.partial != ""
	return s, nil
}

func (k *kube) discover(ctx context.Context) (*served, error) {
	conf := rest.CopyConfig(k.rest)
	conf.Timeout = kubeTimeout
	d, err := discovery.NewDiscoveryClientForConfig(conf)
	if err != nil {
		return nil, err
	}
	version, err := d.ServerVersion()
	if err != nil {
		return nil, kubeError("read the API server's version", err)
	}
	_, lists, err := d.ServerGroupsAndResources()
	s := &served{kinds: map[schema.GroupVersionKind]metav1.APIResource{}}
	switch {
	case discovery.IsGroupDiscoveryFailedError(err):
		s.partial = "the API server cannot list all its APIs: " + err.Error()
	case err != nil:
		return nil, kubeError("read what the API server serves", err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.caps.KubernetesVersion = version.GitVersion
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		s.caps.APIVersions = append(s.caps.APIVersions, list.GroupVersion)
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			s.kinds[group.WithKind(r.Kind)] = r
			s.caps.APIVersions = append(s.caps.APIVersions, list.GroupVersion+"/"+r.Kind)
		}
	}
	slices.Sort(s.caps.APIVersions)
	return s, nil
}

// Lookup implements poll.Cluster: it returns one live object, or a list if there is
// no name.
func (k *kube) Lookup(ctx context.Context, permit tenancy.Permit, key render.LookupKey) ([]byte, error) {
	gv, err := schema.ParseGroupVersion(key.APIVersion)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "look up %s: %w", key.Kind, err)
	}
	s, err := k.serves(ctx)
	if err != nil {
		return nil, err
	}
	resource, ok := s.kinds[gv.WithKind(key.Kind)]
	if !ok {
		if s.partial != "" {
			return nil, errcode.New(errcode.Unavailable, "look up %s: %s", key.Kind, s.partial)
		}
		return nil, nil
	}
	kind := kubeobj.Kind{Group: gv.Group, Version: gv.Version, Kind: key.Kind, Resource: resource.Name, Namespaced: resource.Namespaced}
	if err := permit.MayRead(kind, key.Namespace); err != nil {
		return nil, fmt.Errorf("look up %s %s: %w", key.Kind, key.Name, err)
	}
	as, err := k.lookups.For(permit)
	if err != nil {
		return nil, err
	}
	var client dynamic.ResourceInterface = as.Resource(gv.WithResource(resource.Name))
	if resource.Namespaced {
		client = as.Resource(gv.WithResource(resource.Name)).Namespace(key.Namespace)
	}
	ctx, cancel := context.WithTimeout(ctx, kubeTimeout)
	defer cancel()
	if key.Name == "" {
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, kubeError("look up "+key.Kind, err)
		}
		return list.MarshalJSON()
	}
	object, err := client.Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, kubeError("look up "+key.Kind+" "+key.Name, err)
	}
	return object.MarshalJSON()
}

// Facts implements poll.Cluster.
func (k *kube) Facts(ctx context.Context) (poll.Facts, error) {
	s, err := k.serves(ctx)
	if err != nil {
		return poll.Facts{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, kubeTimeout)
	defer cancel()
	nodes, err := k.metadata.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return poll.Facts{}, kubeError("count nodes", err)
	}
	n := len(nodes.Items)
	if more := nodes.GetRemainingItemCount(); more != nil {
		n += int(*more)
	}
	var labels map[string]string
	if len(nodes.Items) > 0 {
		labels = nodes.Items[0].Labels
	}
	return poll.Facts{KubernetesVersion: s.caps.KubernetesVersion, Distro: distro(s.caps.KubernetesVersion, labels), Nodes: rounded(n)}, nil
}

// distro derives the vendor from the version and from a node's labels.
func distro(version string, labels map[string]string) string {
	for mark, name := range map[string]string{"+k3s": "K3S", "+rke2": "RKE2", "-eks-": "EKS", "-gke.": "GKE", "+k0s": "K0S"} {
		if strings.Contains(version, mark) {
			return name
		}
	}
	for label := range labels {
		switch {
		case strings.HasPrefix(label, "kubernetes.azure.com/"):
			return "AKS"
		case strings.HasPrefix(label, "node.openshift.io/"):
			return "OPENSHIFT"
		}
	}
	return "GENERIC"
}

// rounded keeps two digits, so that one more node among hundreds is no change.
func rounded(n int) int {
	step := 1
	for n/step >= 100 {
		step *= 10
	}
	return (n + step/2) / step * step
}
