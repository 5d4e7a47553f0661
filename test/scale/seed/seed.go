package seed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/people"
	"github.com/axle-cd/axle/test/world"
)

// Config says what a hub is filled with.
type Config struct {
	// Profile is one of Profiles.
	Profile string
	// Dir keeps the hub's data and the token; empty is a temporary folder. A
	// folder that a hub used already is refused.
	Dir string
	// Clusters and Services shrink the huge profile; zero is its own size.
	Clusters, Services int
	// Pages gives the hub its console and documentation.
	Pages bin.Pages
	// Interval between polls of the simulated clusters; zero is the profile's.
	Interval time.Duration
	// Act is what the simulated clusters say of their services; nil is the profile's.
	Act func(scale.Seen) *agentv1.ServiceStatus
	// Progress is told of each step; nil is nobody.
	Progress func(format string, args ...any)
	Log      *slog.Logger
}

// Seeded is a hub with its store filled, and the fleet that belongs to it.
type Seeded struct {
	World *world.World
	// People call as the first administrator, whose token lies in TokenFile.
	*people.People
	TokenFile string
	Fleet     *scale.Fleet

	say func(format string, args ...any)
}

// profile fills a hub.
type profile struct {
	name, what string
	interval   time.Duration
	fill       func(context.Context, *Seeded, Config) error
	act        func(scale.Seen) *agentv1.ServiceStatus
}

var profiles = []profile{
	{"empty", "a hub that was just set up: an administrator and nothing else", 10 * time.Second, fillEmpty, nil},
	{"small", "3 clusters, a repository, 12 services, all healthy", 10 * time.Second, fillSmall, nil},
	{"broken", "each failure that a person can meet, once", 10 * time.Second, fillBroken, broken},
	{"huge", "10,000 clusters with 100,000 services", 2 * time.Minute, fillHuge, nil},
}

// Profiles returns the names of all profiles, each with what it holds.
func Profiles() [][2]string {
	all := make([][2]string, len(profiles))
	for i, p := range profiles {
		all[i] = [2]string{p.name, p.what}
	}
	return all
}

// Fill starts a hub and a Git server and fills the hub's ordinary store
// through its ordinary API. Run keeps the clusters polling; Close ends all. On
// an error nothing remains.
func Fill(ctx context.Context, cfg Config) (s *Seeded, err error) {
	at := slices.IndexFunc(profiles, func(p profile) bool { return p.name == cfg.Profile })
	if at < 0 {
		return nil, fmt.Errorf("there is no profile %q", cfg.Profile)
	}
	p := profiles[at]
	if cfg.Progress == nil {
		cfg.Progress = func(string, ...any) {}
	}
	if cfg.Interval == 0 {
		cfg.Interval = p.interval
	}
	if cfg.Act == nil {
		cfg.Act = p.act
	}
	if err := unused(cfg.Dir); err != nil {
		return nil, err
	}
	w, err := world.Start(ctx, world.Config{
		Dir: cfg.Dir, Only: []string{"axle"}, Pages: cfg.Pages, Hub: []string{"--repo-poll-interval", "5s", "--log-level", "warn"}, Progress: cfg.Progress, Log: cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	cfg.Progress("the hub is at %s, on SQLite", w.Hub.URL)
	s = &Seeded{World: w, TokenFile: filepath.Join(w.Dir, "token"), say: cfg.Progress}
	if s.People, err = people.SetUp(ctx, people.Hub{URL: w.Hub.URL}, w.Hub.SetupTokenFile()); err != nil {
		return nil, err
	}
	if err := s.KeepToken(s.TokenFile); err != nil {
		return nil, err
	}
	s.Fleet = scale.New(scale.Config{URL: w.Hub.URL, ShareTarballs: true, Interval: cfg.Interval, Act: cfg.Act, Dir: w.Dir, Log: cfg.Log})
	return s, p.fill(ctx, s, cfg)
}

// unused refuses a folder whose hub was set up before: its first
// administrator's token is not known here.
func unused(dir string) error {
	if dir == "" {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty; name a folder for this seed alone, or look at that one with axle-hub serve --data-dir %s", dir, filepath.Join(dir, "hub"))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.MkdirAll(dir, 0o700)
}

// Run lets the simulated clusters poll until the context ends.
func (s *Seeded) Run(ctx context.Context) error { return s.Fleet.Run(ctx) }

// Close ends the hub and the Git server.
func (s *Seeded) Close() error { return s.World.Close() }

// join makes a cluster and lets its simulated agent register.
func (s *Seeded) join(ctx context.Context, m scale.Member) (*scale.Cluster, error) {
	token, err := s.Cluster(ctx, m.Name, m.Tags)
	if err != nil {
		return nil, err
	}
	m.Token, m.Tags = token, nil // the row has them already
	return s.Fleet.Join(ctx, m)
}

// until lets all clusters poll until each service satisfies want, which says
// what is still missing.
func (s *Seeded) until(ctx context.Context, want func(*hubv1.Service) error) error {
	return eventually.Wait(ctx, people.Settled, func() error {
		// A cluster whose content is not there yet tries again.
		polled := s.Fleet.PassAll(ctx, nil)
		services, err := s.Services(ctx)
		if err != nil {
			return err
		}
		for _, one := range services {
			if err := want(one); err != nil {
				return fmt.Errorf("%s/%s: %w", one.GetCluster(), one.GetName(), err)
			}
		}
		return polled
	})
}

func fillEmpty(context.Context, *Seeded, Config) error { return nil }
