// Command flux applies folders of manifests with Flux's engine, as its
// kustomize-controller 1.10 does, so that a benchmark can compare the product with it
// on one API server. It leaves out what the controller does around the engine:
// fetching, kustomize build, its own status and its inventory. So it measures less
// than the full cost of Flux.
//
// It reads commands from stdin, a line each, and answers with one line of JSON:
//
//	apply DIR   apply each folder of DIR as one Kustomization and wait until it is ready
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/clusterreader"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// The defaults of kustomize-controller 1.10.
const (
	concurrent     = 4
	concurrentSSA  = 4
	healthInterval = 5 * time.Second
	timeout        = 5 * time.Minute
	controller     = "kustomize-controller"
	group          = "kustomize.toolkit.fluxcd.io"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file with the way into the cluster")
	namespace := flag.String("namespace", "flux", "namespace of objects that name none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *kubeconfig, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace string) error {
	p, err := newPeer(kubeconfig, namespace)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		dir, ok := strings.CutPrefix(lines.Text(), "apply ")
		if !ok {
			return fmt.Errorf("unknown command %q", lines.Text())
		}
		began := time.Now()
		changed, err := p.applyAll(ctx, dir)
		if err != nil {
			return err
		}
		answer, err := json.Marshal(map[string]any{"seconds": time.Since(began).Seconds(), "changed": changed})
		if err != nil {
			return err
		}
		fmt.Println(string(answer))
	}
	return lines.Err()
}

// peer is the engine with its client.
type peer struct {
	client    client.Client
	mapper    meta.RESTMapper
	namespace string
}

func newPeer(kubeconfig, namespace string) (*peer, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// The controller throttles itself only where the API server has no priority
	// and fairness.
	config.QPS, config.Burst = -1, -1
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, web)
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{HTTPClient: web, Mapper: mapper})
	return &peer{client: c, mapper: mapper, namespace: namespace}, err
}

// applyAll applies every folder, some at a time, waits until all objects are ready,
// and counts those that were created or configured. The controller waits in the
// worker that applied; here others continue meanwhile, which is in its favour.
func (p *peer) applyAll(ctx context.Context, dir string) (int, error) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var (
		mu      sync.Mutex
		changed int
		failed  []error
		workers sync.WaitGroup
		waits   sync.WaitGroup
	)
	note := func(name string, n int, err error) {
		mu.Lock()
		defer mu.Unlock()
		changed += n
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	next := make(chan string)
	for range concurrent {
		workers.Go(func() {
			for name := range next {
				n, wait, err := p.apply(ctx, name, filepath.Join(dir, name))
				note(name, n, err)
				if err == nil {
					waits.Go(func() { note(name, 0, wait()) })
				}
			}
		})
	}
	for _, folder := range folders {
		next <- folder.Name()
	}
	close(next)
	workers.Wait()
	waits.Wait()
	return changed, errors.Join(failed...)
}

// apply performs one reconciliation of a Kustomization, and returns what one with
// wait then does.
func (p *peer) apply(ctx context.Context, name, dir string) (changed int, wait func() error, err error) {
	objects, err := p.read(dir)
	if err != nil {
		return 0, nil, err
	}
	poller := polling.NewStatusPoller(p.client, p.mapper, polling.Options{
		ClusterReaderFactory: engine.ClusterReaderFactoryFunc(clusterreader.NewDirectClusterReader),
	})
	manager := ssa.NewResourceManager(p.client, poller, ssa.Owner{Field: controller, Group: group})
	manager.SetOwnerLabels(objects, name, p.namespace)
	manager.SetConcurrency(concurrentSSA)
	if err := normalize.UnstructuredList(objects); err != nil {
		return 0, nil, err
	}
	set, err := manager.ApplyAllStaged(ctx, objects, options())
	if err != nil {
		return 0, nil, err
	}
	var all object.ObjMetadataSet
	for _, entry := range set.Entries {
		all = append(all, entry.ObjMetadata)
		if entry.Action == ssa.CreatedAction || entry.Action == ssa.ConfiguredAction {
			changed++
		}
	}
	return changed, func() error {
		return manager.WaitForSetWithContext(ctx, all, ssa.WaitOptions{Interval: healthInterval, Timeout: timeout, FailFast: true})
	}, nil
}

// options are those of the controller.
func options() ssa.ApplyOptions {
	o := ssa.DefaultApplyOptions()
	o.ExclusionSelector = map[string]string{group + "/reconcile": "disabled", group + "/ssa": "Ignore"}
	o.IfNotPresentSelector = map[string]string{group + "/ssa": "IfNotPresent"}
	o.ForceSelector = map[string]string{group + "/force": "enabled"}
	o.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{corev1.LastAppliedConfigAnnotation, group + "/checksum", "fluxcd.io/sync-checksum"},
		Labels:      []string{"fluxcd.io/sync-gc-mark"},
		FieldManagers: []ssa.FieldManager{
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: controller, OperationType: metav1.ManagedFieldsOperationUpdate},
		},
		Exclusions: map[string]string{group + "/ssa": "Merge"},
	}
	return o
}

// read reads a folder's manifests.
func (p *peer) read(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		found, err := utils.ReadObjects(text)
		text.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, found...)
	}
	for _, o := range objects {
		if o.GetNamespace() == "" {
			o.SetNamespace(p.namespace)
		}
	}
	return objects, nil
}
