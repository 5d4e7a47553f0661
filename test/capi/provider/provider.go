package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/axle-cd/axle/test/capi"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/port"
)

const (
	// clusterLabel is on every object of a cluster.
	clusterLabel = "cluster.x-k8s.io/cluster-name"
	// byCluster is the index of the caches.
	byCluster = "cluster"
	// workers is how many clusters are worked on at the same time.
	workers = 4
	// syncLimit bounds how long the first lists may take.
	syncLimit = 5 * time.Minute
)

// Provider makes and removes the control planes and machines of a management cluster.
type Provider struct {
	client dynamic.Interface
	each   kube.ClusterConfig
	caches map[string]cache.SharedIndexInformer // by the kind's name
	queue  workqueue.TypedRateLimitingInterface[types.NamespacedName]
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu       sync.Mutex
	clusters map[types.NamespacedName]controlPlane
	// stranding is how many of the next machines never join, and stranded are those that do not.
	stranding int
	stranded  map[types.UID]bool
}

// controlPlane is an API server behind an address that ends with it: others have the API server
// after it, and what still uses the address then would take theirs for this one.
type controlPlane struct {
	*kube.Cluster
	front *port.Link
}

// Start runs a provider until the test ends.
func Start(tb kube.TB, management *kube.Cluster, each kube.ClusterConfig) *Provider {
	tb.Helper()
	p, err := Run(context.Background(), management, each)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Logf("close the provider: %v", err)
		}
	})
	return p
}

// Run defines the provider's kinds on a management cluster that a capi.Manager runs on, and
// works on their objects until it is closed. Each control plane has what the config says,
// except its name.
func Run(ctx context.Context, management *kube.Cluster, each kube.ClusterConfig) (*Provider, error) {
	ctx, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	if err := capi.Install(ctx, management, Definitions()); err != nil {
		return nil, fmt.Errorf("define the kinds of the provider: %w", err)
	}
	config := rest.CopyConfig(management.Config())
	config.UserAgent, config.QPS = "bed-provider", -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	p := &Provider{
		client: client, each: each, caches: map[string]cache.SharedIndexInformer{}, clusters: map[types.NamespacedName]controlPlane{}, stranded: map[types.UID]bool{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()),
	}
	var working context.Context
	working, p.stop = context.WithCancel(context.Background())
	var synced []cache.InformerSynced
	for _, k := range []kind{bedCluster, bedMachine, bedControlPlane, bedConfig, machine} {
		informer, err := p.watch(k)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.done.Go(func() { informer.Run(working.Done()) })
		synced = append(synced, informer.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, errors.Join(fmt.Errorf("list the objects of the provider: %w", ctx.Err()), p.Close())
	}
	for range workers {
		p.done.Go(func() { p.run(working) })
	}
	return p, nil
}

// watch keeps the objects of a kind, by cluster, and queues the cluster of each that changes.
func (p *Provider) watch(k kind) (cache.SharedIndexInformer, error) {
	index := cache.Indexers{byCluster: func(o any) ([]string, error) {
		if key, ok := clusterOf(o); ok {
			return []string{key.String()}, nil
		}
		return nil, nil
	}}
	informer := dynamicinformer.NewFilteredDynamicInformer(p.client, k.resource(), metav1.NamespaceAll, 0, index, nil).Informer()
	p.caches[k.name] = informer
	enqueue := func(o any) {
		if key, ok := clusterOf(o); ok {
			p.queue.Add(key)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, o any) { enqueue(o) }})
	return informer, err
}

// clusterOf is the cluster of an object, which a moment after its creation has none.
func clusterOf(o any) (types.NamespacedName, bool) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || u.GetLabels()[clusterLabel] == "" {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetLabels()[clusterLabel]}, true
}

// objects are those of a kind that a cluster has.
func (p *Provider) objects(k kind, cluster types.NamespacedName) (all []*unstructured.Unstructured) {
	items, _ := p.caches[k.name].GetIndexer().ByIndex(byCluster, cluster.String()) // there is such an index
	for _, item := range items {
		all = append(all, item.(*unstructured.Unstructured))
	}
	return all
}

// run works on the clusters of the queue until that is shut down.
func (p *Provider) run(ctx context.Context) {
	for {
		key, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		if p.work(ctx, key) == nil {
			p.queue.Forget(key)
		} else {
			p.queue.AddRateLimited(key) // its objects have the reason
		}
		p.queue.Done(key)
	}
}

// Cluster is the API server of a cluster; nil while it has none.
func (p *Provider) Cluster(namespace, name string) *kube.Cluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clusters[types.NamespacedName{Namespace: namespace, Name: name}].Cluster
}

// Strand has the next machine that is made run without ever joining its cluster.
func (p *Provider) Strand() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stranding++
}

// strands reports whether a machine that is made never joins. The cache may not show yet that
// it was made.
func (p *Provider) strands(uid types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stranding > 0 && !p.stranded[uid] {
		p.stranding--
		p.stranded[uid] = true
	}
	return p.stranded[uid]
}

// start returns the control plane of a cluster, which it starts if there is none.
func (p *Provider) start(ctx context.Context, key types.NamespacedName) (controlPlane, error) {
	p.mu.Lock()
	have, ok := p.clusters[key]
	p.mu.Unlock()
	if ok {
		return have, nil
	}
	config := p.each
	config.Name = key.Name
	c, err := kube.Lease(ctx, config)
	if err != nil {
		return controlPlane{}, err
	}
	front, err := port.NewLink(strings.TrimPrefix(c.URL(), "https://"))
	if err != nil {
		return controlPlane{}, errors.Join(err, c.Close())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clusters[key] = controlPlane{c, front}
	return p.clusters[key], nil
}

// end ends the control plane of a cluster, if it has one. Its address goes first.
func (p *Provider) end(key types.NamespacedName) error {
	p.mu.Lock()
	c, ok := p.clusters[key]
	delete(p.clusters, key)
	p.mu.Unlock()
	if !ok {
		return nil
	}
	return errors.Join(c.front.Close(), c.Close())
}

// Close stops the work, and then every control plane that there still is.
func (p *Provider) Close() error {
	p.stop()
	p.queue.ShutDown()
	p.done.Wait()
	var errs []error
	for key := range p.clusters {
		errs = append(errs, p.end(key))
	}
	return errors.Join(errs...)
}
