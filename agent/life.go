package agent

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/agent/upgrade"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
)

// Status words of the agent's own service during an upgrade.
const (
	reasonUpgrading     = "Upgrading"
	reasonUpgradeFailed = "UpgradeFailed"
)

// newKeeper makes the keeper that replaces this agent by its next version.
func (a *Agent) newKeeper() (*upgrade.Keeper, error) {
	c := a.cfg
	return upgrade.New(upgrade.Config{
		Client: a.kube.Client, Namespace: c.Namespace, Version: buildinfo.Version, Pod: c.PodName, Candidate: c.Candidate,
		Within: c.UpgradeWithin, Tick: c.UpgradeTick, Clock: c.Clock, Log: c.Log,
	})
}

// installation is what an upgrade must preserve; nil if the agent cannot replace
// itself.
func (a *Agent) installation() *agentv1.Installation {
	if a.keeper == nil {
		return nil
	}
	return &agentv1.Installation{Namespace: a.cfg.Namespace, Image: a.cfg.Image, Args: upgrade.WithoutCandidate(a.cfg.Args)}
}

// live works until the context ends, and pauses while another version of this agent
// works.
func (a *Agent) live(ctx context.Context, renderer *render.Runner) error {
	work := func(ctx context.Context) error { return a.work(ctx, renderer) }
	switch {
	case a.keeper == nil:
		return work(ctx)
	case a.cfg.Candidate == "":
		return a.keeper.Run(ctx, work)
	}
	return a.keeper.RunCandidate(ctx, upgrade.Work{
		Render: func(ctx context.Context) (upgrade.CandidateRender, error) { return a.renderCandidate(ctx, renderer) },
		Run:    work, Good: a.settled,
	})
}

// renderCandidate renders everything with the data of the working agent: it reads that agent's
// identity and never renews it, and the hub sees only polls.
func (a *Agent) renderCandidate(ctx context.Context, renderer *render.Runner) (upgrade.CandidateRender, error) {
	id, err := a.identities.Load(ctx)
	if err != nil {
		return upgrade.CandidateRender{}, err
	}
	if id == nil || !id.Registered() {
		return upgrade.CandidateRender{}, errcode.New(errcode.Unavailable, "the working agent has no identity yet")
	}
	p, err := a.assemble(id, false, renderer)
	if err != nil {
		return upgrade.CandidateRender{}, err
	}
	p.session.frozen = true
	found, err := p.loop.RenderCandidate(ctx, p.engine, a.isOwn)
	return upgrade.CandidateRender{Services: found.Services, Compared: found.Compared, Different: found.Different, First: found.First}, err
}

// settled reports on the present work, for a candidate.
func (a *Agent) settled() error {
	loop := a.loop.Load()
	if loop == nil {
		return errcode.New(errcode.Unavailable, "the work has not begun yet")
	}
	return loop.Settled()
}

// isOwn reports whether a service is the agent's own.
func (a *Agent) isOwn(spec *agentv1.ServiceSpec) bool {
	return spec.GetName() == upgrade.Name && spec.GetNamespace() == a.cfg.Namespace && spec.GetProtect()
}

// Pass implements poll.Applier. The agent's own Deployment goes to the keeper, which
// applies it only if it is what already runs.
func (p applier) Pass(ctx context.Context, permit tenancy.Permit, service apply.Service, objects []*unstructured.Unstructured) (apply.Result, error) {
	k := p.agent.keeper
	if k == nil || service.Name != upgrade.Name || service.Namespace != p.agent.cfg.Namespace {
		return p.Engine.Pass(ctx, permit, service, objects)
	}
	busy := apply.Result{Phase: apply.PhaseApplying, Sync: apply.SyncApplying, Reason: reasonUpgrading, Again: cmp.Or(p.agent.cfg.UpgradeTick, upgrade.DefaultTick)}
	if p.agent.cfg.Candidate != "" {
		busy.Message = "version " + buildinfo.Version + " works beside the agent that it replaces"
		return busy, nil
	}
	wanted, err := k.Offer(ctx, objects, service.TarballDigest+" "+service.SpecDigest)
	switch {
	case err != nil:
		return apply.Result{}, err
	case wanted.Same:
		return p.Engine.Pass(ctx, permit, service, objects)
	case wanted.Failed:
		busy.Sync, busy.Reason = apply.SyncFailed, reasonUpgradeFailed
	}
	busy.Message = wanted.Message
	return busy, nil
}
