package clusterapi_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/clusterapi"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// row is a hub's row of one cluster: it connects it until an agent has registered, and keeps
// what was reported of it.
type row struct {
	mu         sync.Mutex
	registered bool
	asked      int
	messages   []string
}

func (r *row) EnrollChild(context.Context, *agentv1.EnrollChildRequest) (*agentv1.Child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked++; r.registered {
		return nil, errcode.New(errcode.Conflict, "cluster edge is connected already")
	}
	return &agentv1.Child{Manifests: agentObjects}, nil
}

func (r *row) ReportChildren(_ context.Context, m *agentv1.ReportChildrenRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, m.GetChildren()[0].GetMessage())
	return nil
}

// flapping is a control plane behind a load balancer.
type flapping struct {
	// away is how it fails, nil while it answers.
	away atomic.Pointer[failure]
}

// failure is a way in which a control plane fails, and what is reported then.
type failure struct {
	says string
	by   http.HandlerFunc
}

var failures = []failure{
	{"currently unable to handle the request", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no backend", http.StatusServiceUnavailable)
	}},
	{"could not find the requested resource", http.NotFound}, // a page of the load balancer
}

// kubeconfig is one of the control plane, which is an API server.
func (f *flapping) kubeconfig(t *testing.T, on *kube.Cluster) []byte {
	t.Helper()
	target, err := url.Parse(on.Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	way, err := rest.TransportFor(on.Config())
	if err != nil {
		t.Fatal(err)
	}
	api := &httputil.ReverseProxy{Transport: way, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Del("Authorization")
	}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away := f.away.Load(); away != nil {
			away.by(w, r)
			return
		}
		api.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": server.URL, "certificate-authority-data": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": "canary"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A control plane that answers, fails and answers is connected once: while it fails nobody
// concludes that it has no agent, and one that is connected stays so. When the management
// cluster is restored from a backup that does not know the cluster, its service makes another
// Cluster object: the hub gives no second identity for it, and the state says so.
func TestAControlPlaneThatFlapsIsConnectedOnce(t *testing.T) {
	on := kube.New(t, kube.ClusterConfig{})
	api, err := kubernetes.NewForConfig(on.Config())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(on.Config())
	if err != nil {
		t.Fatal(err)
	}
	y, namespace, plane := yard{t, objects}, on.Namespace(t), &flapping{}
	for kind, plural := range map[string]string{"Cluster": "clusters", "MachineDeployment": "machinedeployments", "Machine": "machines", "MachinePool": "machinepools"} {
		y.define(kind, plural)
	}
	provisioned := map[string]any{"status": map[string]any{"phase": "Provisioned"}}
	y.make("clusters", "Cluster", namespace, "edge", provisioned)
	secret := func(namespace, name string, kind corev1.SecretType, key string, value []byte) {
		t.Helper()
		if _, err := api.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind, Data: map[string][]byte{key: value}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	secret(namespace, "edge-kubeconfig", "cluster.x-k8s.io/secret", "value", plane.kubeconfig(t, on))

	hub, now := &row{}, clock.NewManual(time.Now())
	start := func() (end func()) {
		c := clusterapi.New(clusterapi.Config{Hub: hub, Client: api, Dynamic: objects, BootID: "b", Clock: now, Log: slog.New(slog.DiscardHandler)})
		c.Set([]*agentv1.ServiceSpec{{Id: "svc-1", Namespace: namespace, MakesCluster: "edge"}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		return func() {
			t.Helper()
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	// passes lets time pass, a minute in a second, until the last report has a text, and
	// the hub was asked so often.
	var moved time.Time
	passes := func(what, message string, asked int) {
		t.Helper()
		eventually.For(t, time.Minute, what, func() error {
			if waiting, _ := now.Waiting(); waiting > 0 && time.Since(moved) > 60*time.Millisecond {
				moved = time.Now()
				now.Advance(5 * time.Second)
			}
			hub.mu.Lock()
			defer hub.mu.Unlock()
			if len(hub.messages) == 0 {
				return errors.New("nothing is reported")
			}
			last := hub.messages[len(hub.messages)-1]
			if hub.asked != asked || !strings.Contains(last, message) || message == "" && last != "" {
				return fmt.Errorf("the hub was asked %d times, want %d; the last report is %q", hub.asked, asked, last)
			}
			return nil
		})
	}
	// fails lets the control plane fail in each way.
	fails := func(asked int) {
		t.Helper()
		for _, f := range failures {
			plane.away.Store(&f)
			passes("it fails", f.says, asked)
		}
		plane.away.Store(nil)
	}
	end := start()
	fails(0)
	passes("it is asked for", "has not registered yet", 1)
	fails(1)
	passes("it answers again", "has not registered yet", 1)

	// Its agent registers.
	secret("axle-system", "axle-agent-identity", corev1.SecretTypeOpaque, "identity.json", []byte(`{"clusterID": "cl_1"}`))
	hub.mu.Lock()
	hub.registered = true
	hub.mu.Unlock()
	passes("it is connected", "", 1)
	end()
	end = start() // knows nothing
	fails(1)
	passes("it is connected", "", 1)
	hub.mu.Lock()
	reports := len(hub.messages)
	hub.mu.Unlock()
	plane.away.Store(&failures[1])
	for range 30 {
		eventually.For(t, time.Minute, "it waits", func() error {
			if waiting, _ := now.Waiting(); waiting == 0 {
				return errors.New("it works")
			}
			return nil
		})
		now.Advance(5 * time.Second)
	}
	plane.away.Store(nil)
	hub.mu.Lock()
	if n := len(hub.messages); n != reports {
		t.Errorf("a connected cluster is reported as %q", hub.messages[reports:])
	}
	hub.mu.Unlock()

	// The management cluster is restored, and the service is applied again.
	if err := y.of("clusters", namespace).Delete(t.Context(), "edge", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := api.CoreV1().Secrets("axle-system").Delete(t.Context(), "axle-agent-identity", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := api.AppsV1().Deployments("axle-system").Delete(t.Context(), "axle-agent", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	y.make("clusters", "Cluster", namespace, "edge", provisioned)
	passes("the refusal is reported", "is connected already", 2)
	end()
	if _, err := api.AppsV1().Deployments("axle-system").Get(t.Context(), "axle-agent", metav1.GetOptions{}); err == nil {
		t.Error("a second agent was installed")
	}
}
