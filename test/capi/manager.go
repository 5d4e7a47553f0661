package capi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/program"
)

// module is where the manager and its definitions are built from.
const module = "test/capi/capidev"

// ErrNotBuilt is returned when the manager is not in the cache.
var ErrNotBuilt = errors.New("the core manager of Cluster API is not built: run `make capidev`")

// startLimit bounds how long the manager may take to become ready. It takes about 3 s on
// an idle machine; the rest is for busy machines.
const startLimit = 5 * time.Minute

// Manager is the core manager of a management cluster.
type Manager struct {
	binary  string
	dir     string
	args    []string
	health  string
	program *program.Program
}

// Start runs a manager until the test ends.
func Start(tb kube.TB, management *kube.Cluster) *Manager {
	tb.Helper()
	m, err := Run(context.Background(), management)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(m.Close)
	return m
}

// Run puts what the manager needs on a management cluster, and starts it. It returns once
// its webhooks answer. Objects are only removed after their owners on a cluster with
// controllers.
func Run(ctx context.Context, management *kube.Cluster) (*Manager, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	m, webhooks, err := prepare(management)
	if err != nil {
		return nil, fmt.Errorf("start the core manager of Cluster API: %w", err)
	}
	objects, err := components(filepath.Join(filepath.Dir(m.binary), "components.yaml"), webhooks, string(management.CA()))
	if err == nil {
		err = Install(ctx, management, objects)
	}
	if err != nil {
		return nil, fmt.Errorf("install Cluster API on cluster %s: %w", management.Name(), err)
	}
	return m, m.start(ctx)
}

// prepare writes the files of a manager and chooses its ports. It returns the address of
// its webhooks too.
func prepare(management *kube.Cluster) (*Manager, string, error) {
	built, err := kube.Built(module, "manager", ErrNotBuilt)
	if err != nil {
		return nil, "", err
	}
	m := &Manager{binary: filepath.Join(built, "manager"), dir: filepath.Join(management.Dir(), "capi")}
	certificate, key, err := kube.ServingCertificate(management, "capi")
	if err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return nil, "", err
	}
	for name, text := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(m.dir, name), text, 0o600); err != nil {
			return nil, "", err
		}
	}
	kubeconfig, err := management.KubeconfigFor("capi-controller-manager", "system:masters")
	if err != nil {
		return nil, "", err
	}
	webhooks, err := port.Free()
	if err != nil {
		return nil, "", err
	}
	health, err := port.Free()
	if err != nil {
		return nil, "", err
	}
	m.health = fmt.Sprintf("127.0.0.1:%d", health)
	m.args = []string{
		"--kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		fmt.Sprintf("--webhook-port=%d", webhooks), "--webhook-cert-dir=" + m.dir,
		"--health-addr=" + m.health, "--diagnostics-address=0",
		// ReconcilerRateLimiting stays on although a cluster takes 4 s more with it: without it a pass
		// does not wait for the cache either, and one that has not seen a new Machine yet removes
		// what is behind it as an orphan, for good (v1.14.2).
		"--feature-gates=ClusterTopology=true",
	}
	return m, fmt.Sprintf("https://127.0.0.1:%d", webhooks), nil
}

func (m *Manager) start(ctx context.Context) error {
	p, err := program.Start(m.dir, m.binary, m.args)
	if err != nil {
		return err
	}
	m.program = p
	return p.WaitReady(ctx, program.Answers("http://"+m.health+"/readyz"))
}

// Restart ends the manager as a crash would, and starts it again on the same ports.
func (m *Manager) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	m.program.Kill()
	return m.start(ctx)
}

// PID is the process id of the running manager.
func (m *Manager) PID() int { return m.program.PID() }

// Close ends the manager. What it put on the management cluster stays.
func (m *Manager) Close() { m.program.Kill() }
