package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/daemon"
	"github.com/axle-cd/axle/internal/flagvalue"
)

// envPrefix is the prefix of every flag's environment variable.
const envPrefix = "AXLE_AGENT_"

func envName(flag string) string { return daemon.EnvName(envPrefix, flag) }

// fromEnv sets every flag that is not on the command line from its variable.
func fromEnv(flags *pflag.FlagSet) error {
	if err := daemon.FromEnv(flags, envPrefix); err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	return nil
}

// options are the flags and the values derived from them.
type options struct {
	config    agent.Config
	logFormat string
	logLevel  string
}

// connection adds the flags that doctor has too.
func (o *options) connection(flags *pflag.FlagSet) {
	c := &o.config
	flags.StringVar(&c.HubURL, "hub-url", "", "URL of the hub, such as https://axle.example.com")
	flags.StringVar(&c.TokenFile, "token-file", "", "file with a bootstrap token, which is used once")
	flags.StringVar(&c.CAFile, "ca-file", "", "PEM file of certificate authorities to trust for the hub, in addition to the system's")
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig to reach the cluster from outside; the identity is then stored in the data folder")
	flags.StringVar(&c.Namespace, "namespace", agent.DefaultNamespace, "namespace of the agent and its state")
	flags.StringVar(&c.DataDir, "data-dir", "/var/lib/axle", "data folder for trees, specs and the last list; not shared with other agents")
	flags.StringVar(&c.Tunnel, "tunnel", agent.TunnelOn, "on: keep a connection to the hub, so that changes arrive at once and people can reach the cluster through the hub; off: only poll")
	flags.StringVar(&o.logFormat, "log-format", "text", "format of the log: text or json")
	flags.StringVar(&o.logLevel, "log-level", "info", "level of the log: debug, info, warn or error")
}

func (o *options) agent(flags *pflag.FlagSet) {
	c := &o.config
	flags.DurationVar(&c.PollInterval, "poll-interval", 0, "time between two polls, at least 1s (default: set by the hub, otherwise 2m)")
	flags.StringVar(&c.RenderBinary, "render-binary", "", "path of axle-render (default: beside this program, then on $PATH)")
	flags.StringVar(&c.ToolsDir, "tools-dir", "", "folder of the tools and WebAssembly modules that renderers of type EXEC and WASM may name")
	flags.StringVar(&c.MetricsListen, "metrics-listen", "", "address of /healthz and /metrics, or \"off\" (default "+agent.DefaultMetricsListen+", or any other port if it is taken)")
	flags.StringVar(&c.Proxy.Mode, "proxy", "full", "what people may do in this cluster through the hub: off, read, or full (limited only by the cluster's RBAC); the hub cannot change it")
	flagvalue.List(flags, &c.Proxy.Verbs, "proxy-verbs", "the only verbs that people may use through the hub: get, list, watch, create, update, patch, delete, deletecollection, exec, attach, portforward, proxy, connect (every other upgrade of a connection, such as the console of a virtual machine)")
	flagvalue.List(flags, &c.Proxy.Namespaces, "proxy-namespaces", "the only namespaces that people may use through the hub; cluster-scoped objects are then not accessible")
	flagvalue.List(flags, &c.Proxy.APIGroups, "proxy-api-groups", "the only API groups that people may use through the hub; core is the group without a name")
	flagvalue.List(flags, &c.Proxy.Groups, "proxy-groups", "the only groups of the hub whose members may use this cluster")
	flags.StringVar(&c.Proxy.Prefix, "proxy-prefix", "", "prefix for each user and group of the hub, such as axle:")
	flags.StringVar(&c.ProfileListen, "pprof-listen", "", "loopback address of /debug/pprof/, such as 127.0.0.1:6060 (default: none; --metrics-listen on a loopback address has it too)")
	flags.BoolVar(&c.SelfUpgrade, "self-upgrade", false, "upgrade this agent, installed as Deployment axle-agent, to the versions that the hub requests")
	flags.DurationVar(&c.UpgradeWithin, "upgrade-within", 0, "how long a new version may take to render everything, and again to become healthy, before it is rolled back (default 15m)")
	flags.DurationVar(&c.UpgradeTick, "upgrade-tick", 0, "how often the old and the new version check each other during an upgrade (default 5s)")
	flags.StringVar(&c.PodName, "pod-name", "", "this agent's pod; set by its manifests")
	flags.StringVar(&c.Image, "image", "", "this agent's image; set by its manifests")
	flags.StringVar(&c.Candidate, "candidate", "", "key of an upgrade; set by the agent that starts this one as its replacement")
	flags.StringVar(&c.ClusterName, "cluster-name", "", "name to register with, if the bootstrap token does not fix it")
}

// finish reads the environment and computes the values that are not flags.
func (o *options) finish(cmd *cobra.Command) error {
	if err := fromEnv(cmd.Flags()); err != nil {
		return err
	}
	log, err := daemon.Logger(os.Stderr, o.logFormat, o.logLevel)
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	o.config.Log = log
	o.config.Args = os.Args[1:]
	o.config.Clock, err = clock.FromEnv()
	return err
}
