// Package agenttest runs a real agent inside a test: the whole of package agent,
// against a given hub and API server. Nothing is faked. The render children are the
// real axle-render and axle-render-rare, built once per test run.
//
// Tests of whole processes, kills and pods belong in test/world.
package agenttest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/test/bin"
)

// Config says which agent to run.
type Config struct {
	// HubURL is a running hub's origin.
	HubURL string
	// Kubeconfig is a file that reaches the cluster.
	Kubeconfig string
	// BootstrapToken registers the cluster; not needed if DataDir holds an identity.
	BootstrapToken string
	// CAFile is the hub's certificate authority, if it has its own.
	CAFile string
	// DataDir is kept across restarts; a temporary folder when empty.
	DataDir string
	// PollInterval is 1 s when zero.
	PollInterval time.Duration
	// Clock is the real one when nil.
	Clock clock.Clock
}

// Agent is a running agent.
type Agent struct {
	*agent.Agent
	// DataDir is the agent's data folder.
	DataDir string

	stop func() error
}

// Start starts an agent that stops at the end of the test.
func Start(t testing.TB, c Config) *Agent {
	t.Helper()
	a, err := Run(t.Context(), c, t.TempDir(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(); err != nil {
			t.Errorf("the agent ended with: %v", err)
		}
	})
	return a
}

// Run starts an agent without a test. It uses dir if Config has no DataDir.
func Run(ctx context.Context, c Config, dir string, log *slog.Logger) (*Agent, error) {
	render, err := bin.Path(ctx, "axle-render", bin.Options{})
	if err != nil {
		return nil, err
	}
	// The agent looks for it beside the other binary.
	if _, err := bin.Path(ctx, "axle-render-rare", bin.Options{}); err != nil {
		return nil, err
	}
	if c.DataDir == "" {
		c.DataDir = dir
	}
	if c.PollInterval == 0 {
		c.PollInterval = time.Second
	}
	token := filepath.Join(dir, "bootstrap-token")
	if err := os.WriteFile(token, []byte(c.BootstrapToken), 0o600); err != nil {
		return nil, fmt.Errorf("write the bootstrap token: %w", err)
	}
	made, err := agent.New(agent.Config{
		HubURL: c.HubURL, TokenFile: token, CAFile: c.CAFile, Kubeconfig: c.Kubeconfig, DataDir: c.DataDir,
		PollInterval: c.PollInterval, RenderBinary: render, MetricsListen: "127.0.0.1:0", Clock: c.Clock, Log: log,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- made.Run(ctx) }()
	a := &Agent{Agent: made, DataDir: c.DataDir}
	a.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	return a, nil
}

// Stop ends the agent and waits for it. It may be called twice.
func (a *Agent) Stop() error { return a.stop() }
