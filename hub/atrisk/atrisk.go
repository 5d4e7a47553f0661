// Package atrisk lists what is older than a rule that would refuse it today: tags that
// nobody is known to stand by, handles that are other clusters' names, groups whose names
// mean something to clusters. All of it goes on working; each line says why it is a risk
// and has the command that settles it.
//
// It decides nothing and changes nothing: each Part asks those whose rule it is. A new
// rule of this kind adds a Part, and the wiring of the hub its place in the list.
package atrisk

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/risk"
)

// Most is how many risks a list has at most.
const Most = 500

// Part finds the risks of one rule.
type Part func(ctx context.Context) ([]risk.Risk, error)

// List returns up to limit risks in order of kind and object, and how many there are.
func List(ctx context.Context, limit int, parts ...Part) (risks []risk.Risk, total int, err error) {
	for _, part := range parts {
		found, err := part(ctx)
		if err != nil {
			return nil, 0, err
		}
		risks = append(risks, found...)
	}
	risk.Sort(risks)
	if limit <= 0 || limit > Most {
		limit = Most
	}
	return risks[:min(limit, len(risks))], len(risks), nil
}

// Fleet is what Clusters asks.
type Fleet interface {
	Clusters(ctx context.Context, f fleet.ClusterFilter) ([]fleet.ClusterView, error)
}

// Clusters finds tags and handles of clusters.
func Clusters(f Fleet) Part {
	return func(ctx context.Context) ([]risk.Risk, error) {
		all, err := f.Clusters(ctx, fleet.ClusterFilter{})
		if err != nil {
			return nil, err
		}
		named := make(map[string]bool, len(all))
		for _, c := range all {
			named[c.Name] = true
		}
		var risks []risk.Risk
		for _, c := range all {
			if keys := c.TagsAtRisk(); len(keys) > 0 {
				risks = append(risks, risk.Tags(c.Name, c.Tags, keys))
			}
			if r, is := risk.Handle(c.Name, c.Handle, named); is {
				risks = append(risks, r)
			}
		}
		return risks, nil
	}
}

// Directory is what Groups asks.
type Directory interface {
	Groups(ctx context.Context) ([]identity.Group, error)
}

// Groups finds groups whose names a new one may not have.
func Groups(d Directory) Part {
	return func(ctx context.Context) ([]risk.Risk, error) {
		all, err := d.Groups(ctx)
		var risks []risk.Risk
		for _, g := range all {
			if r, is := risk.Group(g.Name); is {
				risks = append(risks, r)
			}
		}
		return risks, err
	}
}

// Agents is what Services asks.
type Agents interface {
	ServicesNamed(ctx context.Context, name string, clusterIDs []string) ([]fleet.Service, error)
}

// Services finds services of people with the name of the hub's own.
func Services(s Agents) Part {
	return func(ctx context.Context) ([]risk.Risk, error) {
		all, err := s.ServicesNamed(ctx, fleet.AgentService, nil)
		var risks []risk.Risk
		for _, v := range all {
			if !v.Builtin() {
				risks = append(risks, risk.Service(v.Ref().String()))
			}
		}
		return risks, err
	}
}
