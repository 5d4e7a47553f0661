package clusterapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/agent/clusterapi"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// listening is a hub that keeps the last report.
type listening struct {
	silent
	mu   sync.Mutex
	last map[string]*agentv1.ChildReplacement
}

func (l *listening) ReportChildren(_ context.Context, r *agentv1.ReportChildrenRequest) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = map[string]*agentv1.ChildReplacement{}
	for _, one := range r.GetChildren()[0].GetReplacements() {
		l.last[one.GetUid()] = one
	}
	return nil
}

// yard has objects of Cluster API, which nobody works on.
type yard struct {
	*testing.T
	objects dynamic.Interface
}

// define makes a kind of Cluster API, with any content.
func (y yard) define(kind, plural string) {
	y.Helper()
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + ".cluster.x-k8s.io", "annotations": map[string]any{"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/cluster-api"}},
		"spec": map[string]any{
			"group": "cluster.x-k8s.io", "scope": "Namespaced", "names": map[string]any{"kind": kind, "plural": plural},
			"versions": []any{map[string]any{"name": "v1beta2", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
		},
	}}
	_, err := y.objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).Create(y.Context(), crd, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		y.Fatal(err)
	}
}

func (y yard) of(plural, namespace string) dynamic.ResourceInterface {
	return y.objects.Resource(schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: plural}).Namespace(namespace)
}

// make makes an object once its kind is served, and returns its uid.
func (y yard) make(plural, kind, namespace, name string, more map[string]any) types.UID {
	y.Helper()
	var uid types.UID
	eventually.For(y, time.Minute, kind+" "+name, func() error {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind}}
		for field, value := range more {
			o.Object[field] = value
		}
		o.SetName(name)
		made, err := y.of(plural, namespace).Create(y.Context(), o, metav1.CreateOptions{})
		if err == nil {
			uid = made.GetUID()
		}
		return err
	})
	return uid
}

// machine makes a machine that has an owner of a kind and stays until its finalizer goes.
func (y yard) machine(namespace, cluster, name, owner, ready string) types.UID {
	y.Helper()
	return y.make("machines", "Machine", namespace, name, map[string]any{
		"metadata": map[string]any{
			"labels":          map[string]any{"cluster.x-k8s.io/cluster-name": cluster, "topology.cluster.x-k8s.io/deployment-name": "workers"},
			"finalizers":      []any{"test.axle-cd.github.io/machine"},
			"ownerReferences": []any{map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": owner, "name": "owner", "uid": "00000000-0000-0000-0000-000000000001", "controller": true}},
		},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": ready, "reason": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z"},
			map[string]any{"type": "Deleting", "status": "True", "reason": "DrainingNode", "message": "Drain not completed yet", "lastTransitionTime": "2026-01-01T00:00:00Z"},
		}},
	})
}

// going reports whether a machine is being deleted.
func (y yard) going(namespace, name string) bool {
	y.Helper()
	m, err := y.of("machines", namespace).Get(y.Context(), name, metav1.GetOptions{})
	if err != nil {
		y.Fatal(err)
	}
	return m.GetDeletionTimestamp() != nil
}

// A machine is deleted by its uid, once, and only as one of the cluster that is to have it
// replaced and of a MachineSet, which makes another.
func TestAMachineIsDeletedByItsUID(t *testing.T) {
	t.Parallel()
	on := kube.New(t, kube.ClusterConfig{})
	api, err := kubernetes.NewForConfig(on.Config())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(on.Config())
	if err != nil {
		t.Fatal(err)
	}
	y := yard{t, objects}
	here, there := on.Namespace(t), on.Namespace(t)
	for kind, plural := range map[string]string{"Cluster": "clusters", "MachineDeployment": "machinedeployments", "Machine": "machines", "MachinePool": "machinepools"} {
		y.define(kind, plural)
	}
	y.make("clusters", "Cluster", here, "edge", map[string]any{"status": map[string]any{"phase": "Provisioned"}})
	y.make("machinedeployments", "MachineDeployment", here, "edge-workers", map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"cluster.x-k8s.io/cluster-name": "edge", "topology.cluster.x-k8s.io/deployment-name": "workers"}}, "spec": map[string]any{"replicas": int64(1)},
	})
	old, kept := y.machine(here, "edge", "m-1", "MachineSet", "True"), y.machine(here, "edge", "cp-1", "KubeadmControlPlane", "False")
	beside, other := y.machine(here, "shop", "m-2", "MachineSet", "True"), y.machine(there, "edge", "m-1", "MachineSet", "True")

	hub := &listening{}
	var specs []*agentv1.ServiceSpec
	start := func() (end func()) {
		c := clusterapi.New(clusterapi.Config{Hub: hub, Client: api, Dynamic: objects, BootID: "b", Clock: clock.Real{}, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		c.Set(specs)
		go func() { ended <- c.Run(ctx) }()
		return func() {
			t.Helper()
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	says := func(uid types.UID, is func(*agentv1.ChildReplacement) bool) {
		t.Helper()
		eventually.For(t, time.Minute, "a report on machine "+string(uid), func() error {
			hub.mu.Lock()
			defer hub.mu.Unlock()
			if r := hub.last[string(uid)]; r == nil || !is(r) {
				return fmt.Errorf("it is %v", r)
			}
			return nil
		})
	}
	spec := &agentv1.ServiceSpec{Id: "svc-1", Namespace: here, MakesCluster: "edge"}
	for _, uid := range []types.UID{old, kept, beside, other} {
		spec.ReplaceMachines = append(spec.ReplaceMachines, &agentv1.MachineReplacement{Uid: string(uid), Pool: "workers"})
	}
	specs = []*agentv1.ServiceSpec{spec}
	end := start()
	says(old, func(r *agentv1.ChildReplacement) bool {
		return r.GetMessage() == "Drain not completed yet" && !r.GetDone()
	})
	says(kept, func(r *agentv1.ChildReplacement) bool {
		return r.GetRefused() && strings.Contains(r.GetMessage(), "no MachineSet")
	})
	if !y.going(here, "m-1") || y.going(here, "cp-1") || y.going(here, "m-2") || y.going(there, "m-1") {
		t.Error("the wrong machine is deleted")
	}
	end()

	// The next start finds another machine of that name, which is not ready yet.
	if _, err := y.of("machines", here).Patch(t.Context(), "m-1", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	y.machine(here, "edge", "m-1", "MachineSet", "False")
	end = start()
	defer func() { end() }()
	says(old, func(r *agentv1.ChildReplacement) bool {
		return r.GetMessage() == "it is gone, and 0 of the 1 machines of node pool workers are ready" && !r.GetDone()
	})
	if y.going(here, "m-1") {
		t.Error("another machine of that name is deleted")
	}
	patch := `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Ready","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	if _, err := y.of("machines", here).Patch(t.Context(), "m-1", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	says(old, (*agentv1.ChildReplacement).GetDone)
	if y.going(here, "m-1") || y.going(here, "m-2") || y.going(there, "m-1") {
		t.Error("another machine is deleted")
	}
}
