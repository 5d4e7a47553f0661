package scale

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/world"
)

// settled bounds how long a small seed may take to show what it should.
const settled = 2 * time.Minute

// SeedConfig says what to fill a hub with.
type SeedConfig struct {
	// Profile is one of Profiles.
	Profile string
	// Dir keeps the hub's data and the token; empty is a temporary folder. A
	// folder that a hub used already is refused.
	Dir string
	// Clusters and Services shrink the huge profile; zero is its own size.
	Clusters, Services int
	// Interval between polls of the simulated clusters; zero is the profile's.
	Interval time.Duration
	// Progress is told of each step; nil is nobody.
	Progress func(format string, args ...any)
	Log      *slog.Logger
}

// Seeded is a hub with its store filled, and the fleet that belongs to it.
type Seeded struct {
	World *world.World
	// API calls as the first administrator, whose token lies in TokenFile.
	API       *sdk.Client
	TokenFile string
	Fleet     *Fleet

	token string
	say   func(format string, args ...any)
}

// profile fills a hub.
type profile struct {
	name, what string
	interval   time.Duration
	fill       func(context.Context, *Seeded, SeedConfig) error
	act        func(Seen) *agentv1.ServiceStatus
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

// Seed starts a hub and a Git server and fills the hub's ordinary store
// through its ordinary API. Run keeps the clusters polling; Close ends all. On
// an error nothing remains.
func Seed(ctx context.Context, cfg SeedConfig) (s *Seeded, err error) {
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
	if err := unused(cfg.Dir); err != nil {
		return nil, err
	}
	w, err := world.Start(ctx, world.Config{
		Dir: cfg.Dir, Only: []string{"axle"}, Hub: []string{"--repo-poll-interval", "5s", "--log-level", "warn"}, Progress: cfg.Progress, Log: cfg.Log,
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
	s = &Seeded{World: w, say: cfg.Progress}
	if err := s.setup(ctx); err != nil {
		return nil, err
	}
	s.Fleet = New(Config{URL: w.Hub.URL, ShareTarballs: true, Interval: cfg.Interval, Act: p.act, Dir: w.Dir, Log: cfg.Log})
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

// setup makes the first administrator.
func (s *Seeded) setup(ctx context.Context) error {
	token, err := os.ReadFile(s.World.Hub.SetupTokenFile())
	if err != nil {
		return err
	}
	stranger, err := sdk.New(sdk.Config{URL: s.World.Hub.URL})
	if err != nil {
		return err
	}
	made, err := stranger.Sessions.Setup(ctx, connect.NewRequest(&hubv1.SetupRequest{SetupToken: strings.TrimSpace(string(token)), Email: "admin@example.test"}))
	if err != nil {
		return err
	}
	s.token = made.Msg.GetSecret()
	s.TokenFile = filepath.Join(s.World.Dir, "token")
	if err := atomicfile.Write(s.TokenFile, []byte(s.token+"\n"), 0o600); err != nil {
		return err
	}
	s.API, err = s.client()
	return err
}

// client is one more client of the people's API, with connections of its own.
func (s *Seeded) client() (*sdk.Client, error) {
	return sdk.New(sdk.Config{URL: s.World.Hub.URL, Token: s.token, UserAgent: "seed"})
}

// Run lets the simulated clusters poll until the context ends.
func (s *Seeded) Run(ctx context.Context) error { return s.Fleet.Run(ctx) }

// Close ends the hub and the Git server.
func (s *Seeded) Close() error { return s.World.Close() }

func fillEmpty(context.Context, *Seeded, SeedConfig) error { return nil }
