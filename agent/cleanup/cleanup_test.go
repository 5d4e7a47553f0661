package cleanup_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/agent/cleanup"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// hub takes reports, or refuses the cluster.
type hub struct {
	mu      sync.Mutex
	refuses error
	reports []*agentv1.ReportCleanupRequest
}

func (h *hub) ReportCleanup(_ context.Context, r *agentv1.ReportCleanupRequest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reports = append(h.reports, r)
	return h.refuses
}

func (h *hub) refuse(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refuses, h.reports = err, nil
}

// heard waits for a report.
func (h *hub) heard(t *testing.T, what string, is func(*agentv1.ReportCleanupRequest) bool) {
	t.Helper()
	eventually.For(t, time.Minute, what, func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, r := range h.reports {
			if is(r) {
				return nil
			}
		}
		return fmt.Errorf("there are %d reports", len(h.reports))
	})
}

// bed is a cluster with an agent's cleaner.
type bed struct {
	*testing.T
	client  *kubernetes.Clientset
	dynamic dynamic.Interface
	hub     *hub
	clock   *clock.Manual
}

// start runs a cleaner, as an agent that starts does, until the function returned is called.
func (b *bed) start(destroying bool) (end func()) {
	c := cleanup.New(cleanup.Config{Hub: b.hub, Client: b.client.CoreV1().RESTClient(), Dynamic: b.dynamic, BootID: "b", Clock: b.clock, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	c.Set(destroying)
	go func() { ended <- c.Run(ctx) }()
	return func() {
		b.Helper()
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

// balance makes a load balancer.
func (b *bed) balance(name string) error {
	_, err := b.client.CoreV1().Services("default").Create(b.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	return err
}

// refused waits until new load balancers are refused.
func (b *bed) refused() {
	b.Helper()
	eventually.For(b, time.Minute, "a new load balancer is refused", func() error {
		b.clock.Advance(5 * time.Second)
		err := b.balance("probe")
		if err == nil || apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		if !strings.Contains(err.Error(), "is being destroyed") {
			return err
		}
		return nil
	})
}

// taken waits until new load balancers are taken, and nothing of the refusal is left.
func (b *bed) taken(name string) {
	b.Helper()
	eventually.For(b, time.Minute, "a new load balancer is taken", func() error { return b.balance(name) })
	policies, err := b.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	bound, err := b.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	var names []string
	for _, o := range policies.Items {
		names = append(names, o.Name)
	}
	for _, o := range bound.Items {
		names = append(names, o.Name)
	}
	if slices.Contains(names, "cleanup.axle-cd.github.io") {
		b.Errorf("there are policies and bindings %q", names)
	}
}

// there fails unless a load balancer is there.
func (b *bed) there(name string) {
	b.Helper()
	if _, err := b.client.CoreV1().Services("default").Get(b.Context(), name, metav1.GetOptions{}); err != nil {
		b.Errorf("load balancer %s: %v", name, err)
	}
}

// A cluster that somebody keeps while it is being destroyed gets load balancers again and
// loses no more of them: from the moment on when the hub refuses its agent, after a start of
// the agent, and when the agent is registered again.
func TestAClusterThatIsKeptIsNotCleaned(t *testing.T) {
	t.Parallel()
	conf := kube.Shared(t).Config()
	client, err := kubernetes.NewForConfig(conf)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(conf)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{T: t, client: client, dynamic: objects, hub: &hub{}, clock: clock.NewManual(time.Now())}
	looked := func(r *agentv1.ReportCleanupRequest) bool { return r.GetMessage() == "" }

	end := b.start(true)
	b.hub.heard(t, "a report of a look", looked)
	b.refused()
	revoked := errcode.New(errcode.Unauthorized, "the hub does not accept this agent's token")
	b.hub.refuse(revoked)
	eventually.For(t, time.Minute, "the refusal ends", func() error {
		b.clock.Advance(time.Minute)
		return b.balance("kept")
	})
	b.taken("after")
	end()

	b.hub.refuse(revoked)
	end = b.start(true) // the list that it has stored is the last one
	b.hub.heard(t, "a report of the start", func(r *agentv1.ReportCleanupRequest) bool { return !looked(r) })
	b.taken("started")
	b.there("kept")
	end()

	// The hub is restored, and wants it destroyed.
	b.hub.refuse(nil)
	end = b.start(true)
	b.hub.heard(t, "a report of a look", looked)
	b.refused()
	end()

	end = b.start(false) // it is registered again
	b.taken("again")
	b.there("again")
	end()
}
