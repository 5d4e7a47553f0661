package globals

import (
	"context"
	"fmt"
	"reflect"

	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

// HoldStore stores which templates are held for a rollout.
type HoldStore interface {
	// Held returns the ids of up to limit global services after an id whose template
	// is held, in order of id.
	Held(ctx context.Context, after string, limit int) ([]string, error)
	// Template returns a version of a template.
	Template(ctx context.Context, id string, version int64) (Template, error)
	// EndHold ends it.
	EndHold(ctx context.Context, id string) error
	// Reports returns the targets of a global service on clusters; nil is all.
	Reports(ctx context.Context, id string, clusterIDs []string) ([]Report, error)
	// ForgetRollouts removes the rollouts of a subject except one.
	ForgetRollouts(ctx context.Context, subject, keep string) error
}

// Template is one version of a template.
type Template struct {
	Spec         fleet.Spec
	Secrets      string
	Repositories []string
}

// Report is how a target is, as a rollout judges it.
type Report struct {
	ClusterID string
	// Cluster is a name.
	Cluster string
	// ProjectID is the project that the cluster is in, and Project its name.
	ProjectID, Project string
	PollInterval       int64
	Registered         bool
	OwnerID            string
	SpecVersion        int64
	// Held is set for a target that a person paused, or pinned to a revision.
	Held bool
	// Current is set if the agent's report is about what is desired now.
	Current bool
	Sync    fleet.Sync
	Health  fleet.Health
	Message string
}

// hold keeps what the targets have while a changed template rolls out.
func (g *Global) hold(before Global) {
	changed := !reflect.DeepEqual(g.Spec, before.Spec) || g.Secrets != before.Secrets || g.Context != before.Context
	switch {
	case g.Plan == nil:
		g.Held, g.HeldContext = 0, ""
	case before.ID != "" && before.Held == 0 && changed:
		g.Held, g.HeldContext = before.SpecVersion, before.Context
	}
}

// held returns a global service with the template that is held.
func (g *Globals) held(ctx context.Context, v Global) (Global, error) {
	t, err := g.config.Holds.Template(ctx, v.ID, v.Held)
	v.Spec, v.Secrets, v.Repositories = t.Spec, t.Secrets, t.Repositories
	v.SpecVersion, v.Context = v.Held, v.HeldContext
	return v, err
}

// reached divides clusters into those that the rollout of the present template has
// reached, and the others.
func (g *Globals) reached(ctx context.Context, v Global, clusters []fleet.Cluster) (reached, rest []fleet.Cluster, err error) {
	r, err := g.config.Rollouts.LatestRollout(ctx, noun(v.Name))
	if errcode.Is(err, errcode.NotFound) || err == nil && r.Payload != v.payload() {
		return nil, clusters, nil
	}
	if err != nil {
		return nil, nil, err
	}
	ids := make([]string, len(clusters))
	for i, c := range clusters {
		ids[i] = c.ID
	}
	targets, err := g.config.Waves.RolloutTargets(ctx, r.ID, ids)
	if err != nil {
		return nil, nil, err
	}
	placed := make(map[string]bool, len(targets))
	for _, t := range targets {
		placed[t.ClusterID] = t.State != fanout.Waiting && t.State != fanout.Reverted
	}
	for _, c := range clusters {
		if placed[c.ID] {
			reached = append(reached, c)
		} else {
			rest = append(rest, c)
		}
	}
	return reached, rest, nil
}

// payload names the present template in a rollout.
func (g Global) payload() string { return payloadOf(g.ID, g.SpecVersion) }

func payloadOf(id string, version int64) string { return fmt.Sprintf("%s/%d", id, version) }

// versionName names a version of a template for people.
func versionName(version int64) string { return fmt.Sprintf("template %d", version) }
