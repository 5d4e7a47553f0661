package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	"github.com/axle-cd/axle/internal/kubepage"
)

// Timeout bounds one request to the API server.
const Timeout = 15 * time.Second

// Cluster is what renders and the hub need to know of the cluster. Its served kinds are
// read once, and again when a CRD or an APIService changes.
type Cluster struct {
	REST     *rest.Config
	Client   kubernetes.Interface
	Dynamic  dynamic.Interface
	metadata metadata.Interface
	Clock    clock.Clock
	Log      *slog.Logger

	mu     sync.Mutex
	served *Served // nil until it is read
	stale  bool
	// told is the set of served kinds that run's caller knows.
	told render.Capabilities
	// lookups are the clients for services' lookups.
	lookups tenancy.Clients[looker]
}

// looker reads single objects, and lists.
type looker struct {
	dynamic.Interface
	lists rest.Interface
}

func newLooker(cfg *rest.Config) (looker, error) {
	single, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return looker{}, err
	}
	lists, err := kubepage.NewClient(cfg)
	return looker{single, lists}, err
}

// Served is what the API server serves.
type Served struct {
	Caps    render.Capabilities
	Partial string
	Kinds   map[schema.GroupVersionKind]metav1.APIResource
}

// New returns the cluster that a kubeconfig names, or the one around this pod if it is
// empty. It makes no requests.
func New(kubeconfig string, c clock.Clock, log *slog.Logger) (*Cluster, error) {
	conf, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	// The engine adapts to the API server's own answers.
	conf.QPS = -1
	conf.UserAgent = "axle-agent/" + buildinfo.Version
	k := &Cluster{REST: conf, Clock: c, Log: log}
	k.lookups.Make = newLooker
	if k.Client, err = kubernetes.NewForConfig(conf); err != nil {
		return nil, err
	}
	if k.Dynamic, err = dynamic.NewForConfig(conf); err != nil {
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

// EnsureNamespace creates the agent's namespace: an agent outside its cluster has no
// manifests that would.
func (k *Cluster) EnsureNamespace(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	spaces := k.Client.CoreV1().Namespaces()
	_, err := spaces.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		space := &corev1.Namespace{}
		space.Name, space.Labels = name, map[string]string{"app.kubernetes.io/part-of": "axle"}
		_, err = spaces.Create(ctx, space, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return Explain("create namespace "+name, err)
	}
	return nil
}

// Capabilities implements poll.Cluster.
func (k *Cluster) Capabilities(ctx context.Context) (render.Capabilities, string, error) {
	s, err := k.Serves(ctx)
	if err != nil {
		return render.Capabilities{}, "", err
	}
	return s.Caps, s.Partial, nil
}

// Serves returns what is served, read again if it is unknown or stale. If that fails,
// the known set stays in use.
func (k *Cluster) Serves(ctx context.Context) (*Served, error) {
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
		k.told = s.Caps
	}
	// If an aggregated API is broken, the next pass reads again.
	k.served, k.stale = s, s.Partial != ""
	return s, nil
}

func (k *Cluster) discover(ctx context.Context) (*Served, error) {
	conf := rest.CopyConfig(k.REST)
	conf.Timeout = Timeout
	d, err := discovery.NewDiscoveryClientForConfig(conf)
	if err != nil {
		return nil, err
	}
	version, err := d.ServerVersion()
	if err != nil {
		return nil, Explain("read the API server's version", err)
	}
	_, lists, err := d.ServerGroupsAndResources()
	s := &Served{Kinds: map[schema.GroupVersionKind]metav1.APIResource{}}
	switch {
	case discovery.IsGroupDiscoveryFailedError(err):
		s.Partial = "the API server cannot list all its APIs: " + err.Error()
	case err != nil:
		return nil, Explain("read what the API server serves", err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.Caps.KubernetesVersion = version.GitVersion
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		s.Caps.APIVersions = append(s.Caps.APIVersions, list.GroupVersion)
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			s.Kinds[group.WithKind(r.Kind)] = r
			s.Caps.APIVersions = append(s.Caps.APIVersions, list.GroupVersion+"/"+r.Kind)
		}
	}
	slices.Sort(s.Caps.APIVersions)
	return s, nil
}

// Lookup implements poll.Cluster: it returns one live object, or a list if there is
// no name.
func (k *Cluster) Lookup(ctx context.Context, permit tenancy.Permit, key render.LookupKey) ([]byte, error) {
	gv, err := schema.ParseGroupVersion(key.APIVersion)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "look up %s: %w", key.Kind, err)
	}
	s, err := k.Serves(ctx)
	if err != nil {
		return nil, err
	}
	resource, ok := s.Kinds[gv.WithKind(key.Kind)]
	if !ok {
		if s.Partial != "" {
			return nil, errcode.New(errcode.Unavailable, "look up %s: %s", key.Kind, s.Partial)
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
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	secrets := kubeobj.Ref{Group: kind.Group, Kind: kind.Kind}.IsSecret()
	if key.Name == "" {
		options := metav1.ListOptions{}
		if secrets {
			options.FieldSelector = kubeobj.OthersSelector
		}
		return lookUpAll(ctx, as.lists, gv.WithResource(resource.Name), kind, key.Namespace, options)
	}
	object, err := client.Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, Explain("look up "+key.Kind+" "+key.Name, err)
	}
	if secrets && object.Object["type"] == kubeobj.ClusterSecret {
		return nil, errcode.New(errcode.Forbidden, "look up %s %s: it makes its reader an administrator of a cluster, so no service may", key.Kind, key.Name)
	}
	return object.MarshalJSON()
}

// maxLookUp is the most text of the objects of one lookup together: the render child, which
// takes it, has 512 MiB.
const maxLookUp = 32 << 20

// lookUpAll returns a list of all objects of a kind, which those who may write them decide the
// size of: one is decoded at a time.
func lookUpAll(ctx context.Context, client rest.Interface, of schema.GroupVersionResource, kind kubeobj.Kind, namespace string, options metav1.ListOptions) ([]byte, error) {
	items := []json.RawMessage{}
	text := 0
	meta, err := kubepage.Objects(ctx, client, of, namespace, options, func(o *unstructured.Unstructured) error {
		item, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		if text += len(item); text > maxLookUp {
			return errcode.New(errcode.Unprocessable, "the objects are longer than %d MiB together; look one up by its name, or those of one namespace", maxLookUp>>20)
		}
		items = append(items, item)
		return nil
	}, func(err error) error { return errcode.New(errcode.Unprocessable, "%w", err) })
	if errcode.Is(err, errcode.Unprocessable) {
		return nil, fmt.Errorf("look up %s: %w", kind.Kind, err)
	}
	if err != nil {
		return nil, Explain("look up "+kind.Kind, err)
	}
	return json.Marshal(map[string]any{
		"apiVersion": of.GroupVersion().String(), "kind": kind.Kind + "List", "items": items,
		"metadata": map[string]string{"resourceVersion": meta.ResourceVersion},
	})
}

// Facts implements poll.Cluster.
func (k *Cluster) Facts(ctx context.Context) (poll.Facts, error) {
	s, err := k.Serves(ctx)
	if err != nil {
		return poll.Facts{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	nodes, err := k.metadata.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return poll.Facts{}, Explain("count nodes", err)
	}
	n := len(nodes.Items)
	if more := nodes.GetRemainingItemCount(); more != nil {
		n += int(*more)
	}
	var labels map[string]string
	if len(nodes.Items) > 0 {
		labels = nodes.Items[0].Labels
	}
	return poll.Facts{KubernetesVersion: s.Caps.KubernetesVersion, Distro: distro(s.Caps.KubernetesVersion, labels), Nodes: rounded(n)}, nil
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

// UID identifies the cluster itself.
func UID(ctx context.Context, client kubernetes.Interface) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	ns, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", Explain("read namespace kube-system", err)
	}
	return string(ns.UID), nil
}

// Explain says what to do about an error of the API server.
func Explain(what string, err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return errcode.New(errcode.Forbidden, "%s: the agent's account may not do that; give it the role in the agent's manifests: %w", what, err)
	}
	return errcode.New(errcode.Unavailable, "%s: %w", what, err)
}
