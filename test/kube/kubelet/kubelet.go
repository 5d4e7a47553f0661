package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Config is what a kubelet needs. All fields but Plain and Log are required.
type Config struct {
	// Client may do everything in the cluster.
	Client kubernetes.Interface
	// Node is the name under which it registers.
	Node string
	// Dir is an existing folder for this kubelet only.
	Dir string
	// APIServer is the host and port that pods reach the API server at.
	APIServer string
	// Certificate is served to the API server, whose own ClientCA signed.
	Certificate tls.Certificate
	ClientCA    *x509.CertPool
	// Images begins the images that are binaries, axle.test/ if empty.
	Images string
	// Binary finds the file of an image axle.test/<name>:<version>.
	Binary func(name, version string) (path string, ok bool)
	// Names lists the names of all binaries.
	Names func() []string
	// Start starts a process that dies with this one.
	Start func(*exec.Cmd) error
	// Plain does without namespaces even where they are permitted.
	Plain bool
	Log   *slog.Logger
}

// Kubelet runs the pods of one node.
type Kubelet struct {
	cfg      Config
	listener net.Listener
	isolated bool

	mu   sync.Mutex
	pods map[types.UID]*pod
	wg   sync.WaitGroup
}

// New opens the kubelet's port. Run does the rest and closes it.
func New(cfg Config) (*Kubelet, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{cfg.Certificate},
		ClientCAs:    cfg.ClientCA,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS12,
	})
	if err != nil {
		return nil, fmt.Errorf("open the kubelet's port: %w", err)
	}
	k := &Kubelet{cfg: cfg, listener: listener, pods: map[types.UID]*pod{}}
	if k.isolated = !cfg.Plain && k.canIsolate(); !k.isolated && !cfg.Plain {
		cfg.Log.Warn("namespaces are not permitted here, pods run with rewritten paths")
	}
	return k, nil
}

// Isolated says whether containers get namespaces and a root of their own.
func (k *Kubelet) Isolated() bool { return k.isolated }

// Run registers the node and runs its pods until the context ends. Then it
// kills all processes at once and returns when they are gone.
func (k *Kubelet) Run(ctx context.Context) error {
	server := k.server()
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(k.listener)
	}()
	defer func() {
		server.Close()
		<-served
	}()
	if err := k.register(ctx); err != nil {
		return err
	}
	k.watch(ctx)
	k.wg.Wait()
	return nil
}

// watch follows the pods of the node until the context ends.
func (k *Kubelet) watch(ctx context.Context) {
	bound := cache.NewListWatchFromClient(k.cfg.Client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll,
		fields.OneTermEqualSelector("spec.nodeName", k.cfg.Node))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: bound,
		ObjectType:    &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { k.update(ctx, obj.(*corev1.Pod)) },
			UpdateFunc: func(_, obj any) { k.update(ctx, obj.(*corev1.Pod)) },
			DeleteFunc: func(obj any) {
				if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
					obj = last.Obj
				}
				k.forget(obj.(*corev1.Pod))
			},
		},
	})
	informer.RunWithContext(klog.NewContext(ctx, logr.FromSlogHandler(k.cfg.Log.Handler())))
}

// update starts a pod that is new and stops one that is being deleted.
func (k *Kubelet) update(ctx context.Context, object *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	p := k.pods[object.UID]
	if p == nil {
		p = newPod(k, object)
		k.pods[object.UID] = p
		k.wg.Go(func() { p.run(ctx) })
	}
	p.meta.Store(&object.ObjectMeta)
	if object.DeletionTimestamp != nil {
		grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
		if object.DeletionGracePeriodSeconds != nil {
			grace = *object.DeletionGracePeriodSeconds
		}
		p.stop(time.Duration(grace) * time.Second)
	}
}

// forget ends a pod whose object was deleted by force.
func (k *Kubelet) forget(object *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pods[object.UID]; p != nil {
		delete(k.pods, object.UID)
		p.stop(0)
	}
}

// find returns the pod of that name that came last.
func (k *Kubelet) find(namespace, name string) *pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	var found *pod
	for _, p := range k.pods {
		if p.object.Namespace == namespace && p.object.Name == name &&
			(found == nil || found.object.CreationTimestamp.Before(&p.object.CreationTimestamp)) {
			found = p
		}
	}
	return found
}
