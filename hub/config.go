package hub

import (
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/backup"
	"github.com/axle-cd/axle/hub/certificate"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

// Defaults that the command line shows.
const (
	// DefaultListen is loopback, so that plain HTTP is safe as a default.
	DefaultListen = "127.0.0.1:8080"
	// DefaultRepoPollInterval is the base time between polls of an upstream.
	DefaultRepoPollInterval = 2 * time.Minute
	// DefaultBackupSchedule and DefaultBackupKeep are those of Config.Backup.
	DefaultBackupSchedule, DefaultBackupKeep = backup.DefaultCron, backup.DefaultKeep
)

// Config configures a hub. DataDir is required; the zero value of any other
// field is its default.
type Config struct {
	// Listen is the address of the one origin for agents and people.
	Listen string
	// DataDir belongs only to this process: mirrors, tarballs, the SQLite
	// database when there is no DatabaseURL, and the files of --dev-ca.
	DataDir string
	// DatabaseURL is a postgres:// URL; empty is SQLite in DataDir.
	DatabaseURL string
	// ExternalURL is the URL at which agents and people reach the hub; empty is
	// derived from Listen.
	ExternalURL string
	// AgentsURL is the URL that agents dial; empty is the ExternalURL.
	AgentsURL string
	// AdvertiseURL is the URL at which other replicas reach this one.
	AdvertiseURL string
	// TrustedProxies are the networks of reverse proxies whose X-Forwarded-For
	// is trusted.
	TrustedProxies []netip.Prefix
	// MetricsListen is a separate address for /metrics.
	MetricsListen string
	// KeyFile holds the hub's key, which seals secrets in the database; all
	// replicas share it. Empty is a file in DataDir, created at the first start.
	KeyFile string
	// ConfigBackends is a file that declares backends for values; empty uses
	// only the built-in one.
	ConfigBackends string
	// LoginProviders is a file that declares login providers; empty for none.
	LoginProviders string
	// K8sOrigin is the only origin that serves clusters' APIs; empty is the
	// hub's own.
	K8sOrigin string
	// ExecUnaudited allows commands in clusters to begin although the audit log
	// cannot be written.
	ExecUnaudited bool
	// Replica is the stable name of this replica; when empty, it is generated
	// once and stored in DataDir.
	Replica string

	// OperatorServiceAccount is NAMESPACE/NAME of the ServiceAccount of the operator in
	// the hub's own cluster, which logs in with its projected token as the service
	// account OperatorAccount of the hub (default "operator"). OperatorKubeconfig
	// reaches that cluster from outside of it. Empty lets none log in.
	OperatorServiceAccount, OperatorAccount, OperatorKubeconfig string

	// TLSCert and TLSKey are PEM files, read again when they change.
	TLSCert, TLSKey string
	// DevCA creates a small certificate authority in DataDir and serves with it.
	DevCA bool
	// CAConfigMap is NAMESPACE/NAME of the ConfigMap in the hub's own cluster to which
	// the authority of DevCA is published; empty publishes nothing.
	CAConfigMap string
	// TLSCA is a PEM file of the authority that agents trust for the hub, where its
	// certificate is not of a public one. It excludes DevCA.
	TLSCA string
	// InsecureHTTP allows plain HTTP on an address that others can reach.
	InsecureHTTP bool
	// ShutdownDelay is how long the hub still serves after it was told to stop, with
	// /readyz failing, so that load balancers learn of it first; at most a minute.
	ShutdownDelay time.Duration

	// RepoPollInterval is the base time between polls of an upstream; up to
	// half of it is added at random.
	RepoPollInterval time.Duration
	// AllowUpstreamCIDRs are the only loopback, private and link-local
	// addresses that an upstream may have.
	AllowUpstreamCIDRs []netip.Prefix
	// AllowUpstreamHosts are Git servers, as HOST:PORT, that may have such an address.
	AllowUpstreamHosts []string
	// AllowHTTPUpstreams permits http:// upstreams.
	AllowHTTPUpstreams bool
	// Links are templates of links to what people have beside the hub, by TITLE@PLACE,….
	Links map[string]string
	// GitGuard is the command that runs git fetches; default is this
	// executable with the argument git-guard.
	GitGuard []string
	// CacheBytes limits the unpinned tarballs on disk; zero is the git cache's
	// default.
	CacheBytes int64
	// MirrorBytes limits the mirror of one Git repository on disk, and
	// MirrorsBytes all of them together; zero means no limit.
	MirrorBytes, MirrorsBytes int64
	// CompressionLevel of tarballs is default, fastest or better; empty is
	// default. Digests do not depend on it.
	CompressionLevel string

	// AgentImage is the image of new agents; empty is the release of the hub's version.
	AgentImage string
	// AgentUpgrades is "manual" to upgrade agents only when a person starts it;
	// empty and "auto" start an upgrade when the hub's own version differs.
	AgentUpgrades string

	// AuditRetention is how long the audit log is kept; zero is 30 days.
	AuditRetention time.Duration
	// AuditExport is the target for copies of the audit log as JSON lines: a
	// file's path, or an https:// URL; empty for none. AuditExportToken is a
	// file with the bearer token for the URL.
	AuditExport, AuditExportToken string

	// TerraformProviders is a folder with the zip files of the Terraform provider, which
	// the hub serves; empty is terraform.Dir.
	TerraformProviders string

	// Backup makes backups on a schedule; without a place, none.
	Backup backup.Schedule

	// TraceEndpoint is the base URL of an OpenTelemetry collector with OTLP over
	// HTTP; empty sends no traces. TraceRatio is the share of traces to keep.
	TraceEndpoint string
	TraceRatio    float64

	// Console has the files that make web builds, and Docs those of make docs; nil are
	// none, which the hub says in their place. Deploy has the files of the agent's
	// manifests, as the folder deploy; a hub that serves needs it.
	Console, Docs, Deploy fs.FS
	// Tokens is the console's style sheet with every colour, size and font, for the pages of
	// the login; nil leaves them plain.
	Tokens []byte

	// Out receives the few lines for the person who starts the hub; nil
	// discards them.
	Out   io.Writer
	Log   *slog.Logger
	Clock clock.Clock
}

// withDefaults fills in the defaults and refuses invalid settings.
func (c Config) withDefaults() (Config, error) {
	if c.DataDir == "" {
		return c, errcode.New(errcode.Invalid, "no data folder; set --data-dir")
	}
	dir, err := filepath.Abs(c.DataDir)
	if err != nil {
		return c, errcode.New(errcode.Invalid, "data folder %q: %w", c.DataDir, err)
	}
	c.DataDir = dir
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.RepoPollInterval == 0 {
		c.RepoPollInterval = DefaultRepoPollInterval
	}
	if c.RepoPollInterval < time.Second {
		return c, errcode.New(errcode.Invalid, "--repo-poll-interval %s is too short; give at least one second", c.RepoPollInterval)
	}
	if _, err := c.level(); err != nil {
		return c, err
	}
	if c.Out == nil {
		c.Out = io.Discard
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	return c, c.check()
}

func (c Config) check() error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return errcode.New(errcode.Invalid, "--listen %q is not HOST:PORT: %w", c.Listen, err)
	}
	if c.DatabaseURL != "" && !strings.HasPrefix(c.DatabaseURL, "postgres://") && !strings.HasPrefix(c.DatabaseURL, "postgresql://") {
		return errcode.New(errcode.Invalid, "--database-url does not start with postgres://; leave it empty for SQLite in the data folder")
	}
	for name, text := range map[string]string{"--external-url": c.ExternalURL, "--agents-url": c.AgentsURL, "--advertise-url": c.AdvertiseURL, "--k8s-origin": c.K8sOrigin} {
		if err := checkURL(name, text); err != nil {
			return err
		}
	}
	switch c.AgentUpgrades {
	case "", "auto", AgentUpgradesManual:
	default:
		return errcode.New(errcode.Invalid, "--agent-upgrades %q is neither auto nor manual", c.AgentUpgrades)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errcode.New(errcode.Invalid, "--tls-cert and --tls-key go together; one is missing")
	}
	ways := 0
	for _, on := range []bool{c.TLSCert != "", c.DevCA, c.InsecureHTTP} {
		if on {
			ways++
		}
	}
	if ways > 1 {
		return errcode.New(errcode.Invalid, "--tls-cert, --dev-ca and --insecure-http exclude each other; choose one")
	}
	if c.DevCA && c.TLSCA != "" {
		return errcode.New(errcode.Invalid, "--tls-ca and --dev-ca exclude each other: with --dev-ca, agents trust the hub's own authority")
	}
	if c.CAConfigMap != "" && !c.DevCA {
		return errcode.New(errcode.Invalid, "--ca-configmap publishes the authority of --dev-ca; one is missing")
	}
	if ways == 0 && !isLoopback(host) {
		return errcode.New(errcode.Invalid, "refusing to serve plain HTTP on %s, which others can reach: tokens would be sent unencrypted. Give --tls-cert and --tls-key, or --dev-ca for the hub's own certificate authority, or listen on 127.0.0.1 behind a proxy that terminates TLS, or accept the risk with --insecure-http", c.Listen)
	}
	return nil
}

// level parses CompressionLevel.
func (c Config) level() (tarball.Level, error) {
	switch c.CompressionLevel {
	case "", "default":
		return tarball.Default, nil
	case "fastest":
		return tarball.Fastest, nil
	case "better":
		return tarball.Better, nil
	}
	return 0, errcode.New(errcode.Invalid, "--compression-level %q is not one of default, fastest, better", c.CompressionLevel)
}

func checkURL(name, text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return errcode.New(errcode.Invalid, "%s %q is not a plain http or https URL such as https://axle.example.com", name, text)
	}
	return nil
}

// isLoopback reports whether only this machine can reach a listen address. The only
// accepted name is localhost, because others may resolve differently tomorrow.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// cacheDir holds mirrors and tarballs; everything in it can be rebuilt.
func (c Config) cacheDir() string { return filepath.Join(c.DataDir, "cache") }

func (c Config) authorityPath() string { return filepath.Join(c.DataDir, certificate.AuthorityFile) }

// usesTLS reports whether the hub itself terminates TLS.
func (c Config) usesTLS() bool { return c.TLSCert != "" || c.DevCA }

// externalURL returns the hub's URL when it listens on addr.
func (c Config) externalURL(addr net.Addr) string {
	if c.ExternalURL != "" {
		return strings.TrimRight(c.ExternalURL, "/")
	}
	scheme := "http"
	if c.usesTLS() {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return scheme + "://" + addr.String()
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// hostOf returns the host of a URL, without its port.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
