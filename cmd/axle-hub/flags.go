package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/daemon"
	"github.com/axle-cd/axle/internal/flagvalue"
)

// errUsage marks errors of the command line.
var errUsage = errors.New("see axle-hub --help")

// envPrefix is the prefix of every flag's environment variable.
const envPrefix = "AXLE_HUB_"

func envName(flag string) string { return daemon.EnvName(envPrefix, flag) }

// fromEnv sets every flag that is not on the command line from its variable.
func fromEnv(flags *pflag.FlagSet) error { return daemon.FromEnv(flags, envPrefix) }

// audit30 is the hub's own default, for the help.
const audit30 = 30 * 24 * time.Hour

// options are the flags that are not fields of hub.Config.
type options struct {
	config    hub.Config
	cidrs     []string
	proxies   []string
	logFormat string
	logLevel  string
}

func (o *options) database(flags *pflag.FlagSet) {
	flags.StringVar(&o.config.DataDir, "data-dir", "", "data folder for mirrors, tarballs and the SQLite database; not shared with other hubs")
	flags.StringVar(&o.config.DatabaseURL, "database-url", "", "postgres://… URL, to use Postgres instead of SQLite; pass a URL with a password in "+envName("database-url"))
}

// bucket are the flags of commands that read or write backups.
func (o *options) bucket(flags *pflag.FlagSet) {
	a := &o.config.Backup.Access
	flags.StringVar(&a.Endpoint, "backup-endpoint", "", "URL of the S3-compatible store with the bucket for backups, such as https://s3.example.com (default: Amazon's)")
	flags.StringVar(&a.Region, "backup-region", "", "region of the bucket for backups (default: of the environment, otherwise us-east-1)")
	flags.StringVar(&a.CredentialsFile, "backup-credentials-file", "", "file with the keys of the bucket for backups, in the format of AWS's shared credentials; read again for each backup (default: the role or the keys of the environment)")
}

// keyFile is the flag of commands that read or seal secrets.
func (o *options) keyFile(flags *pflag.FlagSet) {
	flags.StringVar(&o.config.KeyFile, "key-file", "", "file with the keys that encrypt secrets, the same for all replicas (default: hub.key in the data folder, created once)")
}

func (o *options) serve(flags *pflag.FlagSet) {
	c := &o.config
	flags.StringVar(&c.Listen, "listen", hub.DefaultListen, "address for agents and people")
	flags.StringVar(&c.ExternalURL, "external-url", "", "URL at which agents and people reach the hub (default: derived from --listen)")
	flags.StringVar(&c.AgentsURL, "agents-url", "", "URL that agents dial, where it is not --external-url")
	flags.StringVar(&c.AdvertiseURL, "advertise-url", "", "URL at which other replicas reach this one")
	flags.StringVar(&c.MetricsListen, "metrics-listen", "", "separate address for /metrics (default: on --listen)")
	o.keyFile(flags)
	flags.StringVar(&c.Replica, "replica", "", "stable name of this replica (default: generated once and kept in the data folder)")
	flags.StringVar(&c.ConfigBackends, "config-backends", "", "file that declares backends for values, such as OpenBao, the same for all replicas (default: only the hub's database)")
	flags.StringVar(&c.LoginProviders, "login-providers", "", "file that declares OpenID Connect providers that people log in with, the same for all replicas; read again when it changes (default: only those of axle providers)")
	flags.StringVar(&c.OperatorServiceAccount, "operator-service-account", "", "NAMESPACE/NAME of the operator's ServiceAccount in the hub's own cluster; it logs in with a projected token whose audience is the hub's URL (default: none)")
	flags.StringVar(&c.OperatorAccount, "operator-account", hub.DefaultOperatorAccount, "service account of the hub that the operator acts as")
	flags.StringVar(&c.OperatorKubeconfig, "operator-kubeconfig", "", "kubeconfig of the cluster of --operator-service-account (default: the pod's own account)")
	flags.StringVar(&c.K8sOrigin, "k8s-origin", "", "origin at which the clusters' APIs are served, such as https://k8s.example.com; it must lead to this hub (default: the hub's own)")
	flags.DurationVar(&c.AuditRetention, "audit-retention", audit30, "how long to keep the audit log")
	flags.StringVar(&c.AuditExport, "audit-export", "", "copy the audit log as JSON lines to a file, or to an https:// URL by POST (default: no copy)")
	flags.StringVar(&c.AuditExportToken, "audit-export-token-file", "", "file with the bearer token for the URL of --audit-export; read again for each request")
	flags.BoolVar(&c.ExecUnaudited, "exec-unaudited", false, "allow exec and similar commands in clusters even if the audit log cannot be written")
	flags.StringVar(&c.TLSCert, "tls-cert", "", "PEM file of the server certificate; read again when it changes")
	flags.StringVar(&c.TLSKey, "tls-key", "", "PEM file of the key of --tls-cert")
	flags.BoolVar(&c.DevCA, "dev-ca", false, "create a certificate authority in the data folder (ca.pem) and serve TLS with it")
	flags.StringVar(&c.CAConfigMap, "ca-configmap", "", "NAMESPACE/NAME of a ConfigMap in the hub's own cluster to which the authority of --dev-ca is written, for the operator (default: none)")
	flags.StringVar(&c.TLSCA, "tls-ca", "", "PEM file of the certificate authority that agents trust for the hub, where its certificate is not of a public one")
	flags.BoolVar(&c.InsecureHTTP, "insecure-http", false, "allow plain HTTP on an address that others can reach")
	flags.DurationVar(&c.ShutdownDelay, "shutdown-delay", 0, "how long to serve on after SIGTERM while /readyz fails, so that load balancers learn of it first, at most 1m; for hubs with several replicas")
	flags.DurationVar(&c.RepoPollInterval, "repo-poll-interval", hub.DefaultRepoPollInterval, "base time between polls of an upstream; up to half is added at random")
	flagvalue.List(flags, &o.cidrs, "allow-upstream-cidrs", "loopback, private and link-local networks where upstreams are allowed")
	flagvalue.List(flags, &c.AllowUpstreamHosts, "allow-upstream-hosts", "HOST:PORT of Git servers that may have such an address, such as axle-git.axle.svc:8443")
	flagvalue.Pairs(flags, &c.Links, "link", "TITLE@PLACE,…=URL of a link in the console, such as to Grafana: a PLACE is cluster, service, pod, alert or silence, and the URL may have {cluster}, {namespace}, {service}, {pod}, {alert}, {silence}, {from} and {to} (repeatable)")
	flagvalue.List(flags, &o.proxies, "trusted-proxies", "networks of the reverse proxies whose X-Forwarded-For is trusted")
	flags.BoolVar(&c.AllowHTTPUpstreams, "allow-http-upstreams", false, "allow http:// upstreams")
	flags.Int64Var(&c.CacheBytes, "cache-bytes", 0, "maximum bytes of unpinned tarballs on disk (default 10 GiB)")
	flags.Int64Var(&c.MirrorBytes, "mirror-bytes", 0, "maximum bytes of the mirror of one Git repository on disk; a repository's own limit overrides it (default: no limit)")
	flags.Int64Var(&c.MirrorsBytes, "mirrors-bytes", 0, "maximum bytes of the mirrors of all Git repositories on this replica's disk (default: no limit)")
	flags.StringVar(&c.CompressionLevel, "compression-level", "default", "compression of tarballs: default, fastest or better")
	flags.StringVar(&c.AgentImage, "agent-image", "", "image of agents that are connected, such as registry.example.com/axle-agent:v1 (default: the release of the hub's own version)")
	flags.StringVar(&c.AgentUpgrades, "agent-upgrades", "auto", "auto: upgrade the agents to the hub's own version, in waves; manual: only with axle agents upgrade")
	flags.StringVar(&c.TerraformProviders, "terraform-providers", "", "folder with the zip files of the Terraform provider, which terraform init finds at this hub (default: /usr/share/axle/terraform, where the image has them)")
	flags.StringVar(&c.Backup.To, "backup-to", "", "folder or bucket, such as s3://backups/axle, where the hub puts backups of its database on a schedule (default: none are made)")
	flags.StringVar(&c.Backup.Cron, "backup-schedule", "", "when to make backups, a cron line in UTC (default "+hub.DefaultBackupSchedule+")")
	flags.IntVar(&c.Backup.Keep, "backup-keep", 0, "how many of the hub's own backups to keep at least (default "+strconv.Itoa(hub.DefaultBackupKeep)+")")
	flags.DurationVar(&c.Backup.KeepFor, "backup-keep-for", 0, "how long to keep each of them at least (default: only --backup-keep decides)")
	o.bucket(flags)
	flags.StringVar(&c.TraceEndpoint, "trace-endpoint", "", "OpenTelemetry collector for traces (OTLP over HTTP), such as http://otel-collector:4318 (default: none)")
	flags.Float64Var(&c.TraceRatio, "trace-ratio", 0.01, "share of requests to trace, 0 to 1")
	flags.StringVar(&o.logFormat, "log-format", "text", "format of the log: text or json")
	flags.StringVar(&o.logLevel, "log-level", "info", "level of the log: debug, info, warn or error")
}

// finish reads the environment and parses the remaining flags.
func (o *options) finish(cmd *cobra.Command) error {
	if err := fromEnv(cmd.Flags()); err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	for _, list := range []struct {
		flag  string
		texts []string
		into  *[]netip.Prefix
	}{{"allow-upstream-cidrs", o.cidrs, &o.config.AllowUpstreamCIDRs}, {"trusted-proxies", o.proxies, &o.config.TrustedProxies}} {
		for _, text := range list.texts {
			prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
			if err != nil {
				return fmt.Errorf("--%s: %q is not a network such as 10.0.0.0/8: %w; %w", list.flag, text, err, errUsage)
			}
			*list.into = append(*list.into, prefix)
		}
	}
	log, err := daemon.Logger(os.Stderr, o.logFormat, o.logLevel)
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	o.config.Log, o.config.Out = log, os.Stdout
	o.config.Clock, err = clock.FromEnv()
	return err
}
