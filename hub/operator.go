package hub

import (
	"cmp"

	"github.com/axle-cd/axle/hub/identity/federation"
	"github.com/axle-cd/axle/hub/identity/tokenreview"
	"github.com/axle-cd/axle/hub/identity/wiring"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// DefaultOperatorAccount is the service account of the hub that the operator acts as.
const DefaultOperatorAccount = "operator"

// makeCallers makes what knows who calls.
func makeCallers(h *Hub) error {
	issuers, err := h.newIssuers()
	if err != nil {
		return err
	}
	operator, err := newOperator(h.config, h.pools, h.URL)
	if err != nil {
		return err
	}
	h.callers, err = wiring.New(wiring.Config{
		Stores: h.store.IdentityStores(), Writer: h.store, Sealer: h.store.Sealer(), Clusters: h.fleet, Issuers: issuers, Operator: operator,
		Pools: h.pools, Clock: h.config.Clock, Log: h.config.Log,
	})
	return err
}

// newOperator lets the operator's ServiceAccount log in; nil without one.
func newOperator(c Config, pools *pool.Set, audience func() string) (*federation.Operator, error) {
	if c.OperatorServiceAccount == "" {
		return nil, nil
	}
	reviewer, err := tokenreview.New(tokenreview.Config{Account: c.OperatorServiceAccount, Kubeconfig: c.OperatorKubeconfig, Pools: pools})
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "--operator-service-account: %w", err)
	}
	return &federation.Operator{Reviewer: reviewer, Account: cmp.Or(c.OperatorAccount, DefaultOperatorAccount), Audience: audience}, nil
}
