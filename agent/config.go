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
	// DefaultNamespace holds the agent and its state.
	DefaultNamespace = "axle-system"
	// DefaultMetricsListen serves /healthz and /metrics. If the port is taken,
	// another one is used, and the log names it.
	DefaultMetricsListen = ":8085"
)

// Config is what an Agent needs.
type Config struct {
	// HubURL is the hub's origin.
	HubURL string
	// TokenFile holds the bootstrap token; it is read once.
	TokenFile string
	// CAFile holds certificate authorities to trust for the hub, besides the
	// system's.
	CAFile string
	// Kubeconfig reaches the cluster from outside; empty means from inside. With it,
	// the identity is stored in DataDir instead of a Secret.
	Kubeconfig string
	// Namespace is DefaultNamespace when empty.
	Namespace string
	// DataDir is the agent's data folder; no other process may use it.
	DataDir string
	// PollInterval is 2 min when zero, at least 1 s. If set, the hub cannot change
	// it.
	PollInterval time.Duration
	// RenderBinary is the path of axle-render. When empty, it is looked up beside
	// this program, then on $PATH.
	RenderBinary string
	// ToolsDir holds the programs that renderers of type EXEC and WASM may name;
	// empty means none.
	ToolsDir string
	// MetricsListen is DefaultMetricsListen when empty; "off" listens nowhere.
	MetricsListen string
	// ProfileListen serves /debug/pprof/, on a loopback address only; empty serves
	// none.
	ProfileListen string
	// Tunnel is TunnelOn when empty, or TunnelOff.
	Tunnel string
	// Proxy is what people may do in this cluster through the hub, within the limits
	// of its RBAC; the hub cannot change it.
	Proxy authproxy.Policy
	// ClusterName is requested at registration, if the token does not fix it.
	ClusterName string
	// SelfUpgrade: the agent was installed from its manifests, as Deployment
	// axle-agent in Namespace, and replaces itself.
	SelfUpgrade bool
	// Candidate is the key of the upgrade that this process is a candidate of.
	Candidate string
	// PodName and Image are those of this process's pod.
	PodName string
	Image   string
	// Args is the command line, reported to the hub so that an upgrade keeps it.
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
		return errcode.New(errcode.Invalid, "--pprof-listen %q is not a loopback address; profiles reveal much about a process, so they are served to this machine only", c.ProfileListen)
	}
	if err := c.Proxy.Check(); err != nil {
		return err
	}
	c.SetDefaults()
	return nil
}

// SetDefaults fills in what a doctor needs too.
func (c *Config) SetDefaults() {
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

// CAPEM reads CAFile; nil if none is named.
func (c *Config) CAPEM() ([]byte, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "--ca-file: %w", err)
	}
	return pem, nil
}

// Dir is a path in the data folder.
func (c *Config) Dir(name string) string { return filepath.Join(c.DataDir, name) }
