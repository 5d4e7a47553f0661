package seed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/people"
)

// brokenApps have content that is fine; what ails them is their cluster's.
var brokenApps = []string{
	"healthy", "owned-by-another", "forbidden", "prune-held", "held-elsewhere", "contested", "drifted", "crash-loop",
	"rolling-out", "waits-for-database", "api-server-away", "on-hold", "rolled-back",
}

// ailments are what the simulated cluster says of services, by name.
var ailments = map[string]func(scale.Seen) *agentv1.ServiceStatus{
	"owned-by-another": func(s scale.Seen) *agentv1.ServiceStatus {
		return s.Failed("apply", "Deployment owned-by-another/owned-by-another: belongs to service prod/legacy-shop; delete it there, or set adopt on this service")
	},
	"forbidden": func(s scale.Seen) *agentv1.ServiceStatus {
		return s.Failed("apply", `ConfigMap forbidden/forbidden: the API server refuses: configmaps is forbidden: User "system:serviceaccount:axle-system:limited" cannot patch resource "configmaps"; give the service account the right`)
	},
	"prune-held": func(s scale.Seen) *agentv1.ServiceStatus {
		return held(s, "PruneHeld", "this revision would delete 14 of 17 objects; look at them, then run: axle services approve-prune prod/prune-held")
	},
	"held-elsewhere": func(s scale.Seen) *agentv1.ServiceStatus {
		return held(s, "Orphaned", "the hub does not list this service any more and did not order its removal; it is left as it is")
	},
	"contested": func(s scale.Seen) *agentv1.ServiceStatus {
		return held(s, "Contested", "Deployment contested/contested: something else changed spec.replicas back 5 times in a minute; healing pauses for 10 minutes")
	},
	"drifted": func(s scale.Seen) *agentv1.ServiceStatus {
		return s.Applied("Drifted", "Healthy", "ConfigMap drifted/drifted: data.greeting differs from what was applied", nil)
	},
	"crash-loop": func(s scale.Seen) *agentv1.ServiceStatus {
		return s.Applied("Synced", "Degraded", "Deployment crash-loop/crash-loop: 0 of 2 pods are ready; container crash-loop ends with code 1 (CrashLoopBackOff, 7 restarts)", ill("Degraded", "0 of 2 pods are ready; container crash-loop ends with code 1 (CrashLoopBackOff, 7 restarts)"))
	},
	"rolling-out": func(s scale.Seen) *agentv1.ServiceStatus {
		return s.Applied("Synced", "Progressing", "Deployment rolling-out/rolling-out: 1 of 2 pods is updated", ill("Progressing", "1 of 2 pods is updated"))
	},
	"waits-for-database": func(s scale.Seen) *agentv1.ServiceStatus {
		return &agentv1.ServiceStatus{Sync: "Pending", Reason: "Dependency", Health: "Unknown", Message: "waits for service crash-loop, which is not healthy"}
	},
	"api-server-away": func(s scale.Seen) *agentv1.ServiceStatus {
		status := s.Failed("agent", "the API server does not answer: dial tcp 10.96.0.1:443: connect: connection refused")
		status.Reason = "APIServerAway"
		return status
	},
}

// broken is the fleet's Act of the broken profile.
func broken(s scale.Seen) *agentv1.ServiceStatus {
	if ail := ailments[s.Spec.GetName()]; ail != nil && s.Content != nil && !s.Paused {
		return ail(s)
	}
	return scale.Healthy(s)
}

func held(s scale.Seen, reason, message string) *agentv1.ServiceStatus {
	status := s.Applied("Held", "Healthy", message, nil)
	status.Reason = reason
	return status
}

// ill makes the Deployment unwell.
func ill(health, message string) func(*agentv1.Component) {
	return func(c *agentv1.Component) {
		if c.GetKind() == "Deployment" {
			c.Health, c.Message = health, message
		}
	}
}

func fillBroken(ctx context.Context, s *Seeded, _ Config) error {
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"repositories: one that is fine, one that goes away, one that never answered", s.brokenRepositories},
		{"clusters: well, lost, waiting for approval, never connected", s.brokenClusters},
		{"services with sources that cannot be produced", s.brokenSources},
		{"services that their cluster cannot run", s.brokenServices},
		{"a pause, a rollback, a delete that nobody works off", s.brokenIntents},
	}
	for _, step := range steps {
		s.say("%s", step.what)
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	return s.brokenSettles(ctx)
}

func (s *Seeded) brokenRepositories(ctx context.Context) error {
	files := map[string]string{
		"apps/bad-yaml/config.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bad-yaml\ndata:\n  key: [1, 2\n",
		"apps/no-kind/thing.yaml":     "apiVersion: v1\nmetadata:\n  name: thing\n",
		"apps/escaping/link.txt":      "see the link\n",
		"docs/only-documentation.txt": "nothing to apply here\n",
	}
	for _, name := range brokenApps {
		maps.Copy(files, people.App(name, "hello"))
	}
	if err := s.Repository(ctx, s.World.Git, "fleet", files); err != nil {
		return err
	}
	if err := s.Repository(ctx, s.World.Git, "goes-away", people.App("survivor", "hello")); err != nil {
		return err
	}
	id, err := s.World.Git.Resolve(ctx, "fleet", "refs/heads/main")
	if err != nil {
		return err
	}
	// A name that is both a branch and a tag is not decided by chance. The hub
	// reads again before a service follows it: a read between the two would
	// know the branch alone and deliver it.
	err = errors.Join(s.World.Git.SetRef(ctx, "fleet", "refs/heads/release", id), s.World.Git.Tag(ctx, "fleet", "release", id),
		s.Refresh(ctx, "fleet"))
	return errors.Join(err, s.AddRepository(ctx, "never-answered", "http://127.0.0.1:9/never.git"))
}

func (s *Seeded) brokenClusters(ctx context.Context) error {
	prod, err := s.join(ctx, scale.Member{Name: "prod", Tags: map[string]string{"tier": "prod"}})
	if err != nil {
		return err
	}
	lost, err := s.join(ctx, scale.Member{Name: "lost", Tags: map[string]string{"tier": "edge"}, Interval: time.Second})
	if err != nil {
		return err
	}
	token, err := s.API.Tokens.CreateBootstrap(ctx, connect.NewRequest(&hubv1.CreateBootstrapTokenRequest{NamePattern: "new-*", MaxUses: 5}))
	if err != nil {
		return err
	}
	if _, err := s.Fleet.Join(ctx, scale.Member{Name: "new-site", Token: token.Msg.GetSecret()}); err != nil {
		return err
	}
	if _, err := s.Cluster(ctx, "planned", nil); err != nil {
		return err
	}
	return errors.Join(
		s.Service(ctx, prod.Name, "survivor", "goes-away", "main", "apps/survivor"),
		s.Service(ctx, lost.Name, "healthy", "fleet", "main", "apps/healthy"),
		s.Service(ctx, lost.Name, "leaving", "fleet", "main", "apps/healthy"),
		s.Service(ctx, "planned", "healthy", "fleet", "main", "apps/healthy"),
		s.Service(ctx, "new-site", "healthy", "fleet", "main", "apps/healthy"),
	)
}

func (s *Seeded) brokenSources(ctx context.Context) error {
	return errors.Join(
		s.Service(ctx, "prod", "unknown-ref", "fleet", "no-such-branch", "apps/healthy"),
		s.Service(ctx, "prod", "ambiguous-ref", "fleet", "release", "apps/healthy"),
		s.Service(ctx, "prod", "no-folder", "fleet", "main", "apps/nowhere"),
		s.Service(ctx, "prod", "no-upstream", "never-answered", "main", "apps/healthy"),
		s.Service(ctx, "prod", "bad-yaml", "fleet", "main", "apps/bad-yaml"),
		s.Service(ctx, "prod", "no-kind", "fleet", "main", "apps/no-kind"),
	)
}

func (s *Seeded) brokenServices(ctx context.Context) error {
	var errs []error
	for _, name := range brokenApps {
		errs = append(errs, s.Service(ctx, "prod", name, "fleet", "main", "apps/"+name))
	}
	return errors.Join(errs...)
}

func (s *Seeded) brokenIntents(ctx context.Context) error {
	for _, one := range []struct{ cluster, name string }{{"prod", "rolled-back"}, {"prod", "survivor"}, {"prod", "crash-loop"}, {"lost", "leaving"}} {
		if err := s.Produced(ctx, one.cluster, one.name, ""); err != nil {
			return err
		}
	}
	if err := s.Fleet.PassAll(ctx, nil); err != nil {
		return err
	}
	for _, c := range s.Fleet.Clusters() {
		if c.Name == "lost" {
			c.Silence()
		}
	}
	if _, err := s.API.Services.Delete(ctx, connect.NewRequest(&hubv1.DeleteServiceRequest{Ref: people.ServiceRef("lost", "leaving")})); err != nil {
		return err
	}
	if _, err := s.API.Services.Pause(ctx, connect.NewRequest(&hubv1.PauseServiceRequest{Ref: people.ServiceRef("prod", "on-hold")})); err != nil {
		return err
	}
	if err := os.RemoveAll(s.World.Git.Path("goes-away")); err != nil {
		return err
	}
	return s.rollBack(ctx)
}

// rollBack makes a second revision of a service and returns to the first.
func (s *Seeded) rollBack(ctx context.Context) error {
	commit, err := s.World.Git.Commit(ctx, "fleet", "main", "greet the world, which turns out to be a mistake", people.App("rolled-back", "world"))
	if err != nil {
		return err
	}
	if err := s.Refresh(ctx, "fleet"); err != nil {
		return err
	}
	if err := s.Produced(ctx, "prod", "rolled-back", commit); err != nil {
		return err
	}
	_, err = s.API.Services.Rollback(ctx, connect.NewRequest(&hubv1.RollbackServiceRequest{Ref: people.ServiceRef("prod", "rolled-back"), Revision: 1}))
	return err
}

// brokenWants is what each service of the profile shows in the end, as sync
// and reason; a service that is not here is Synced.
var brokenWants = map[string][2]string{
	"prod/unknown-ref": {"Failed", "SourceError"}, "prod/ambiguous-ref": {"Failed", "SourceError"},
	"prod/no-folder": {"Failed", "SourceError"}, "prod/no-upstream": {"Failed", "SourceError"},
	"prod/bad-yaml": {"Failed", ""}, "prod/no-kind": {"Failed", ""},
	"prod/owned-by-another": {"Failed", ""}, "prod/forbidden": {"Failed", ""}, "prod/api-server-away": {"Failed", "APIServerAway"},
	"prod/prune-held": {"Held", "PruneHeld"}, "prod/held-elsewhere": {"Held", "Orphaned"}, "prod/contested": {"Held", "Contested"},
	"prod/drifted": {"Drifted", ""}, "prod/waits-for-database": {"Pending", "Dependency"}, "prod/on-hold": {"Paused", ""},
	"lost/leaving": {"Pending", "Deleting"}, "planned/healthy": {"Pending", "NoAgent"}, "new-site/healthy": {"Pending", ""},
}

// brokenSettles waits until every failure shows as it should.
func (s *Seeded) brokenSettles(ctx context.Context) error {
	return eventually.Wait(ctx, people.Settled, func() error {
		for _, name := range []string{"goes-away", "never-answered"} {
			got, err := s.API.Repositories.Get(ctx, connect.NewRequest(&hubv1.GetRepositoryRequest{Name: name}))
			if err != nil {
				return err
			}
			if got.Msg.GetHealth() != "Failed" {
				return fmt.Errorf("repository %s is %s", name, got.Msg.GetHealth())
			}
		}
		for _, c := range s.Fleet.Clusters() {
			if c.Silent() {
				continue
			}
			if _, err := c.Pass(ctx); err != nil {
				return err
			}
		}
		services, err := s.Services(ctx)
		if err != nil {
			return err
		}
		var errs []error
		for _, one := range services {
			want, ok := brokenWants[one.GetCluster()+"/"+one.GetName()]
			if !ok {
				want = [2]string{"Synced", ""}
			}
			if got := [2]string{one.GetSync(), one.GetReason()}; got != want {
				errs = append(errs, fmt.Errorf("%s/%s shows %q, not %q: %s", one.GetCluster(), one.GetName(), got, want, one.GetMessage()))
			}
		}
		return errors.Join(errs...)
	})
}
