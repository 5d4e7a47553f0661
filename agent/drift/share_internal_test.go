package drift

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// sluggish heals nothing of a guest until the context ends.
type sluggish struct {
	keeper
	guests, others chan string
}

func (s *sluggish) Heal(ctx context.Context, service string, refs []kubeobj.Ref) ([]kubeobj.Healed, error) {
	if !strings.HasPrefix(service, "guest") {
		s.others <- service
		return nil, nil
	}
	s.guests <- service
	<-ctx.Done()
	return nil, ctx.Err()
}

// However many services of a guest have objects that are slow to heal, another project's are
// healed meanwhile.
func TestAGuestsHealsHoldNobodyUp(t *testing.T) {
	const services = 50
	owner := &sluggish{guests: make(chan string, services), others: make(chan string, services)}
	w, err := New(Config{REST: &rest.Config{Host: "http://127.0.0.1:1"}, ClusterID: "c", Project: func(service string) string { return strings.TrimRight(service, "0123456789") }})
	if err != nil {
		t.Fatal(err)
	}
	w.owner = owner
	queue := func(service string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.healing[service] = map[kubeobj.Ref]bool{{Kind: "ConfigMap", Name: service}: true}
		poke(w.healWake)
	}
	for n := range services {
		queue(fmt.Sprint("guest", n))
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.running.Go(func() { w.heal(ctx) })
	defer w.running.Wait()
	defer cancel()
	for range healersEach {
		<-owner.guests
	}
	for _, service := range []string{"shop1", "shop2"} {
		queue(service)
		select {
		case healed := <-owner.others:
			if healed != service {
				t.Errorf("%s is healed, not %s", healed, service)
			}
		case <-time.After(healLimit / 2):
			t.Fatalf("%s waits", service)
		}
	}
	if n := len(owner.guests); n != 0 {
		t.Errorf("%d more of the guest's services are healed", n)
	}
}
