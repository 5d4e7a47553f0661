package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/axle-cd/axle/hub/identity/agentkey"
)

// All agents of a site start at once with one token.
func TestManyAgentsRegisterWithOneTokenAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		const crowd = 60
		token := g.bootstrap(agentkey.BootstrapRequest{NamePattern: "edge-*", MaxUses: crowd, Approved: true})
		var all sync.WaitGroup
		errs := make([]error, crowd)
		for i := range crowd {
			all.Go(func() {
				a := newAgent(t, fmt.Sprint("uid-", i))
				_, errs[i] = g.Register(t.Context(), token.Secret, a.registration(fmt.Sprint("edge-", i)))
			})
		}
		all.Wait()
		for i, err := range errs {
			if err != nil {
				t.Errorf("agent %d: %v", i, err)
			}
		}
	})
}
