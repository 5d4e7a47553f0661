package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/tunnel/authproxy"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// DefaultNamespace holds the agent and what it remembers.
	DefaultNamespace = "axle-system"
	// DefaultMetricsListen serves /healthz and /metrics. When the port is
	// taken, any other is, and the log names it.
	DefaultMetricsListen = ":8085"
)

// Config is what an Agent needs.
type Config struct {
	// HubURL is the hub's origin.
	HubURL string
	// TokenFile holds the bootstrap token; it is read once.
	TokenFile string
	// CAFile holds certificates that the hub's may be signed by, beside the
	// system's.
	CAFile string
	// Kubeconfig reaches the cluster from outside; empty is from inside. With
	// it the identity lies in DataDir instead of a Secret.
	Kubeconfig string
	// Namespace is DefaultNamespace when empty.
	Namespace string
	// DataDir is this agent's alone.
	DataDir string
	// PollInterval is 2 min when zero, at least 1 s. When it is set, the hub
	// cannot change it.
	PollInterval time.Duration
	// RenderBinary is axle-render; beside this program, then on $PATH, when
	// empty.
	RenderBinary string
	// ToolsDir holds what renderers of type EXEC and WASM may name; empty has
	// nothing.
	ToolsDir string
	// MetricsListen is DefaultMetricsListen when empty, and nothing listens
	// when it is "off".
	MetricsListen string
	// ProfileListen serves /debug/pprof/, on a loopback address alone; empty
	// serves none there.
	ProfileListen string
	// Tunnel is TunnelOn when empty, or TunnelOff.
	Tunnel string
	// Proxy is what people may do in this cluster through the hub, beside what
	// its RBAC says; the hub cannot change it.
	Proxy authproxy.Policy
	// ClusterName is asked for at registration, when the token does not fix it.
	ClusterName string
	// SelfUpgrade: the agent was installed by its manifests, as Deployment
	// axle-agent of Namespace, and replaces itself.
	SelfUpgrade bool
	// Candidate is the key of the upgrade that this process is a candidate of.
	Candidate string
	// PodName and Image are this process's, as its pod says.
	PodName string
	Image   string
	// Args are the command line, told to the hub so that an upgrade keeps it.
	Args []string
	// UpgradeWithin and UpgradeTick are the defaults of agent/upgrade when zero.
	UpgradeWithin time.Duration
	UpgradeTick   time.Duration
	// Clock is the real one when nil.
	Clock clock.Clock
	// Log is silent when nil.
	Log *slog.Logger
}

func (c *Config) check() error {
	if c.HubURL == "" {
		return errcode.New(errcode.Invalid, "the hub's URL is missing; give --hub-url")
	}
	if c.DataDir == "" {
		return errcode.New(errcode.Invalid, "the data folder is missing; give --data-dir")
	}
	if c.PollInterval != 0 && c.PollInterval < poll.MinInterval {
		return errcode.New(errcode.Invalid, "--poll-interval %v is shorter than %v", c.PollInterval, poll.MinInterval)
	}
	if c.Tunnel == "" {
		c.Tunnel = TunnelOn
	}
	if c.Tunnel != TunnelOn && c.Tunnel != TunnelOff {
		return errcode.New(errcode.Invalid, "--tunnel %q; it is %s or %s", c.Tunnel, TunnelOn, TunnelOff)
	}
	if c.ProfileListen != "" && !loopback(c.ProfileListen) {
		return errcode.New(errcode.Invalid, "--pprof-listen %q is not a loopback address; profiles say much about a process, so only this machine gets them", c.ProfileListen)
	}
	if err := c.Proxy.Check(); err != nil {
		return err
	}
	c.setDefaults()
	return nil
}

func (c *Config) setDefaults() {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

func (c *Config) caPEM() ([]byte, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "--ca-file: %w", err)
	}
	return pem, nil
}

func (c *Config) dir(name string) string { return filepath.Join(c.DataDir, name) }
