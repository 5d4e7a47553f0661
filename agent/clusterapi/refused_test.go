package clusterapi_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/agent/clusterapi"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// refusing is a hub with a cluster that is connected already, and the log of its agent.
type refusing struct {
	mu    sync.Mutex
	asked int
	log   bytes.Buffer
}

func (r *refusing) EnrollChild(context.Context, *agentv1.EnrollChildRequest) (*agentv1.Child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return nil, errcode.New(errcode.Conflict, "cluster edge is connected already")
}

func (r *refusing) ReportChildren(context.Context, *agentv1.ReportChildrenRequest) error { return nil }

func (r *refusing) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

func (r *refusing) logged(text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !strings.Contains(r.log.String(), text) {
		return fmt.Errorf("the log has no %q: %s", text, r.log.String())
	}
	return nil
}

// A cluster whose agent the hub does not replace is found connected within a minute after
// somebody installed one with a token of axle clusters create --renew-token, and the hub is not
// asked again meanwhile.
func TestAnAgentThatSomebodyInstalledIsFound(t *testing.T) {
	const namespace = "clusterapi-refused"
	on := kube.Shared(t)
	api, err := kubernetes.NewForConfig(on.Config())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(on.Config())
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(on.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	secret := func(namespace, name string, kind corev1.SecretType, key string, value []byte) {
		t.Helper()
		_, err := api.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		if err == nil || apierrors.IsAlreadyExists(err) {
			_, err = api.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind, Data: map[string][]byte{key: value}}, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	secret(namespace, "edge-kubeconfig", "cluster.x-k8s.io/secret", "value", kubeconfig)

	hub, now := &refusing{}, clock.NewManual(time.Now())
	c := clusterapi.New(clusterapi.Config{Hub: hub, Client: api, Dynamic: objects, BootID: "b", Clock: now, Log: slog.New(slog.NewTextHandler(hub, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	c.Set([]*agentv1.ServiceSpec{{Id: "svc-1", Namespace: namespace, MakesCluster: "edge"}})
	eventually.For(t, time.Minute, "the refusal is shown", func() error { return hub.logged("is connected already") })

	secret("axle-system", "axle-agent-identity", corev1.SecretTypeOpaque, "identity.json", []byte(`{"clusterID": "cl_1"}`))
	t.Cleanup(func() {
		err := api.CoreV1().Secrets("axle-system").Delete(context.WithoutCancel(t.Context()), "axle-agent-identity", metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	now.Advance(time.Minute)
	eventually.For(t, time.Minute, "the cluster is connected", func() error { return hub.logged("a cluster that was made here is connected") })
	hub.mu.Lock()
	defer hub.mu.Unlock()
	if hub.asked != 1 {
		t.Errorf("the hub was asked %d times", hub.asked)
	}
}
