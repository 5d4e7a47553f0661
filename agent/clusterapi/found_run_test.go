package clusterapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/clusterapi"
	"github.com/axle-cd/axle/agent/kube"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
)

// run runs a Finder. The function returned waits until the policy is enforced.
func (b *findBed) run(specs ...*agentv1.ServiceSpec) (enforced func()) {
	b.Helper()
	k, err := kube.New(b.server.Kubeconfig(), clock.Real{}, slog.New(slog.DiscardHandler))
	b.must(err)
	made := clusterapi.New(clusterapi.Config{Hub: b.hub, Client: k.Client, Dynamic: k.Dynamic, BootID: "b", Clock: clock.Real{}, Log: slog.New(slog.DiscardHandler)})
	made.Set(specs)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- clusterapi.NewFinder(made, k).Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return func() {
		b.Helper()
		eventually.For(b, time.Minute, "the policy", func() error {
			p, err := b.api.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Get(b.Context(), "axle-capi-clusters", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if age := time.Since(p.CreationTimestamp.Time); age < 7*time.Second {
				return fmt.Errorf("it is %s old", age)
			}
			return nil
		})
	}
}
