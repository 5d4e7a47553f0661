package hubtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
)

// startLimit is how long a hub may take to be ready on a loaded machine.
const startLimit = 60 * time.Second

// Admin is the first administrator of every hub that this package starts.
const Admin = "admin@example.com"

// HubConfig is hub.Config, for tests that may not know the hub's wiring.
type HubConfig = hub.Config

// Config configures a test hub. Only DataDir is required.
type Config struct {
	DataDir string
	// Hub holds the other settings; zero values become a free loopback port, a
	// poll of upstreams every 2 s, allowed upstreams on loopback, and the files of
	// the agent's manifests in this checkout. It serves no console.
	Hub HubConfig
	// AdminToken is the token of the hub whose database this one shares.
	AdminToken string
}

// Hub is a running hub.
type Hub struct {
	*hub.Hub
	// URL is its origin.
	URL string
	// DataDir is its data folder.
	DataDir string
	// AdminToken is an API token of Admin that may do everything.
	AdminToken string

	stop  context.CancelFunc
	ended chan error
}

// adminTokenFile keeps the administrator's token across restarts in one folder.
const adminTokenFile = "hubtest-admin-token"

// Start starts a hub and returns when it is ready.
func Start(ctx context.Context, c Config) (*Hub, error) {
	if !guarded {
		return nil, errors.New("hubtest: call hubtest.Main in TestMain, or hubtest.Guard first in main")
	}
	config := c.Hub
	config.DataDir = c.DataDir
	if config.Listen == "" {
		config.Listen = "127.0.0.1:0"
	}
	if config.RepoPollInterval == 0 {
		config.RepoPollInterval = 2 * time.Second
	}
	if config.AllowUpstreamCIDRs == nil {
		config.AllowUpstreamCIDRs = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	if config.Deploy == nil {
		config.Deploy = deploy
	}
	made, err := hub.New(config)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	h := &Hub{Hub: made, URL: made.URL(), DataDir: c.DataDir, AdminToken: c.AdminToken, stop: stop, ended: make(chan error, 1)}
	go func() { h.ended <- made.Run(running) }()
	if err := h.becomeReady(ctx); err != nil {
		return nil, errors.Join(err, h.Stop())
	}
	return h, nil
}

func (h *Hub) becomeReady(ctx context.Context) error {
	if err := eventually.Wait(ctx, startLimit, h.Ready); err != nil {
		return fmt.Errorf("the hub is not ready: %w", err)
	}
	if h.AdminToken != "" {
		return nil
	}
	return h.logIn(ctx)
}

// logIn sets the hub up as a person would, once per data folder.
func (h *Hub) logIn(ctx context.Context) error {
	kept := filepath.Join(h.DataDir, adminTokenFile)
	if text, err := os.ReadFile(kept); err == nil {
		h.AdminToken = string(text)
		return nil
	}
	bearer, err := os.ReadFile(h.SetupTokenFile())
	if err != nil {
		return fmt.Errorf("read the setup token: %w", err)
	}
	made, err := h.Parts().Accounts.Setup(ctx, strings.TrimSpace(string(bearer)), Admin)
	if err != nil {
		return fmt.Errorf("set the hub up: %w", err)
	}
	h.AdminToken = made.Secret
	return os.WriteFile(kept, []byte(h.AdminToken), 0o600)
}

// Stop stops the hub like SIGTERM and returns its error. It may be called
// again.
func (h *Hub) Stop() error {
	h.stop()
	err, open := <-h.ended
	if open {
		close(h.ended)
	}
	return err
}

// Backup writes a backup of a hub, which may run, to a file.
func Backup(ctx context.Context, c Config, file string) error {
	c.Hub.DataDir = c.DataDir
	_, err := hub.Backup(ctx, c.Hub, file)
	return err
}

// Restore puts a backup back into the data folder of a hub that is stopped.
func Restore(ctx context.Context, c Config, file string) error {
	c.Hub.DataDir = c.DataDir
	_, _, err := hub.Restore(ctx, c.Hub, file)
	return err
}

// New starts a hub for one test and stops it at the test's end. It creates a
// data folder unless one is given, as for a restart.
func New(t testing.TB, c Config) *Hub {
	t.Helper()
	if c.DataDir == "" {
		c.DataDir = Folder(t)
	}
	if c.Hub.Log == nil {
		said := &output{to: t.Output()}
		t.Cleanup(said.end)
		c.Hub.Log = slog.New(slog.NewTextHandler(said, nil))
	}
	h, err := Start(t.Context(), c)
	if err != nil {
		t.Fatalf("start a hub: %v", err)
	}
	t.Cleanup(func() {
		if err := h.Stop(); err != nil {
			t.Errorf("the hub ended: %v", err)
		}
	})
	return h
}

// output writes to a test's log until the test ends. A line that the last
// goroutine of a connection logged later would fail all tests of the binary.
type output struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(p)
}

func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to = io.Discard
}

// Folder returns a data folder of a hub that was never started. Its database has the
// tables: to create them takes longer than many tests, above all under the race
// detector.
func Folder(tb testing.TB) string {
	tb.Helper()
	return storetest.SQLite(tb).Config.DataDir
}

// Postgres returns the URL of a new database with the tables, for the hubs of one test.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return storetest.Postgres(tb).Config.DatabaseURL
}
