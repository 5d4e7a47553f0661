package console

import (
	"context"
	"errors"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/risk"
)

// mostRisks limits the services in one answer.
const mostRisks = 100

// risks are what an administrator should settle: all that was permitted by an earlier
// version, goes on, and gives people more than it should. Only administrators see them.
func (s *Server) risks(ctx context.Context) ([]*hubv1.Risk, error) {
	if s.config.Identity.Authorize(ctx, caller(ctx), identity.ActionAdmin, identity.Scope{}) != nil {
		return nil, nil
	}
	risks, err := s.hubClusterRisk(ctx)
	if err != nil {
		return nil, err
	}
	services, more, err := s.config.Fleet.AccountsAtRisk(ctx, mostRisks)
	for _, a := range services {
		risks = append(risks, riskOf(risk.Account(a.Service.Ref().String(), a.Service.Project, a.Account)))
	}
	if more {
		risks = append(risks, &hubv1.Risk{Kind: "service_account", Object: "more services", Why: "act as accounts that were not given to their projects; settle these first"})
	}
	return risks, err
}

// hubClusterRisk is the cluster that the hub runs in, where role bindings let people
// write it: its Secrets hold the hub's key. Empty where only administrators have rights.
func (s *Server) hubClusterRisk(ctx context.Context) ([]*hubv1.Risk, error) {
	c, err := s.config.Fleet.ClusterByHandle(ctx, fleet.Management)
	if errcode.Is(err, errcode.NotFound) || err == nil && identity.ForAdministrators(c.ProjectID) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := 0
	var failed error
	for level, id := range map[identity.Level]string{identity.LevelHub: "", identity.LevelProject: c.ProjectID, identity.LevelCluster: c.ID} {
		all, err := s.config.Identity.BindingsAt(ctx, level, id)
		failed = errors.Join(failed, err)
		for _, b := range all {
			if b.Action == identity.ActionWrite {
				n++
			}
		}
	}
	if n == 0 || failed != nil {
		return nil, failed
	}
	return []*hubv1.Risk{riskOf(risk.HubCluster(c.Name, c.Project, n))}, nil
}

func riskOf(r risk.Risk) *hubv1.Risk {
	return &hubv1.Risk{Kind: r.Kind, Object: r.Object, Why: r.Why, Command: r.Command}
}
