// Package stores starts real stores of metrics, alerts and logs for tests: Prometheus,
// Alertmanager and VictoriaMetrics as Debian has them, VictoriaLogs and kube-state-metrics
// as build.sh builds them. It knows no product code; a test puts one of them into a cluster
// by kube.Cluster.Expose.
//
// Invariants: everything listens on 127.0.0.1 only, keeps its data in a temporary folder, and
// ends with the test, or with the process that started it.
package stores

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/program"
)

// ErrNotBuilt is returned for a program that build.sh makes and that is not in the cache.
var ErrNotBuilt = errors.New("VictoriaLogs and kube-state-metrics are not built: run `make stores`")

// startLimit bounds how long a store may take to become ready: a second on an idle machine.
const startLimit = 2 * time.Minute

// Store is one that runs.
type Store struct {
	// Address is where it listens, 127.0.0.1:<port>.
	Address string
	// Dir has its log and its data.
	Dir string

	program *program.Program
	start   func() (*program.Program, error)
	health  string
}

// URL is its address as a URL.
func (s *Store) URL() string { return "http://" + s.Address }

// Kill ends the store at once; Restart brings it back at the same address, with its data.
func (s *Store) Kill() { s.program.Kill() }

// Pause freezes the store: connections stay open and nothing answers, until Resume.
func (s *Store) Pause() error { return s.program.Freeze() }

// Restart starts the store again.
func (s *Store) Restart(ctx context.Context) error {
	s.program.Kill()
	return s.run(ctx)
}

func (s *Store) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var err error
	if s.program, err = s.start(); err != nil {
		return err
	}
	return s.program.WaitReady(ctx, program.Answers(s.URL()+s.health))
}

// start runs a program whose arguments depend on its address and folder. Close is the end.
func start(ctx context.Context, binary, health string, args func(address, dir string) ([]string, error)) (*Store, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		return nil, fmt.Errorf("%s is not installed: run `make deps`", binary)
	}
	number, err := port.Free()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "axle-store-")
	if err != nil {
		return nil, err
	}
	s := &Store{Address: fmt.Sprintf("127.0.0.1:%d", number), Dir: dir, health: health}
	arguments, err := args(s.Address, dir)
	if err == nil {
		s.start = func() (*program.Program, error) { return program.Start(dir, path, arguments) }
		err = s.run(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the store and removes its data.
func (s *Store) Close() {
	s.program.Kill()
	os.RemoveAll(s.Dir)
}

// until has a store closed with the test.
func until(tb kube.TB, s *Store, err error) *Store {
	tb.Helper()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(s.Close)
	return s
}

// Prometheus describes a Prometheus.
type Prometheus struct {
	// Targets are URLs to scrape every second, by job.
	Targets map[string]string
	// Kubelet, unless nil, is a cluster whose process kubelet is scraped as job kubelet.
	Kubelet *kube.Cluster
	// Rules is the text of a file of rules, evaluated every second; their alerts go to Alertmanager.
	Rules        string
	Alertmanager *Store
	// History is OpenMetrics text with timestamps that it has from the beginning.
	History string
}

// Exposition serves a text of metrics until the test ends, as a program does, and returns its URL.
func Exposition(tb kube.TB, text func() string) string {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, text())
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// NewPrometheus runs a Prometheus until the test ends.
func NewPrometheus(tb kube.TB, p Prometheus) *Store {
	tb.Helper()
	s, err := RunPrometheus(context.Background(), p)
	return until(tb, s, err)
}

// RunPrometheus runs a Prometheus until Close.
func RunPrometheus(ctx context.Context, p Prometheus) (*Store, error) {
	return start(ctx, "prometheus", "/-/ready", func(address, dir string) ([]string, error) {
		config, err := p.config(ctx, dir)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(
			os.WriteFile(filepath.Join(dir, "prometheus.yml"), config, 0o600),
			os.WriteFile(filepath.Join(dir, "rules.yml"), []byte(p.Rules), 0o600),
			p.backfill(ctx, dir),
		); err != nil {
			return nil, err
		}
		return []string{
			"--config.file=" + filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(dir, "data"),
			"--web.listen-address=" + address, "--web.enable-remote-write-receiver", "--web.enable-admin-api", "--web.enable-lifecycle",
			"--storage.tsdb.retention.time=365d", "--log.level=warn",
			// What was sent before it knew its Alertmanager is sent again, by itself a minute later.
			"--rules.alert.resend-delay=1s",
		}, nil
	})
}

type document map[string]any

// config is JSON, which YAML contains.
func (p Prometheus) config(ctx context.Context, dir string) ([]byte, error) {
	var jobs []document
	for job, target := range p.Targets {
		scheme, rest, _ := strings.Cut(target, "://")
		host, path, _ := strings.Cut(rest, "/")
		jobs = append(jobs, document{"job_name": job, "scheme": scheme, "metrics_path": "/" + path, "honor_labels": true,
			"static_configs": []document{{"targets": []string{host}}}})
	}
	if p.Kubelet != nil {
		job, err := kubeletJob(ctx, p.Kubelet, dir)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	config := document{"global": document{"scrape_interval": "1s", "evaluation_interval": "1s"}, "scrape_configs": jobs}
	if p.Rules != "" {
		config["rule_files"] = []string{filepath.Join(dir, "rules.yml")}
	}
	if p.Alertmanager != nil {
		config["alerting"] = document{"alertmanagers": []document{{"static_configs": []document{{"targets": []string{p.Alertmanager.Address}}}}}}
	}
	return json.Marshal(config)
}

// kubeletJob scrapes a cluster's process kubelet as a user of its own.
func kubeletJob(ctx context.Context, cluster *kube.Cluster, dir string) (document, error) {
	address, err := cluster.KubeletAddress(ctx)
	if err != nil {
		return nil, err
	}
	user, err := cluster.ConfigFor("prometheus")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"ca.crt": user.CAData, "client.crt": user.CertData, "client.key": user.KeyData}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	return document{
		"job_name": "kubelet", "scheme": "https", "metrics_path": "/metrics/cadvisor", "honor_labels": true,
		"tls_config": document{
			"ca_file": filepath.Join(dir, "ca.crt"), "cert_file": filepath.Join(dir, "client.crt"), "key_file": filepath.Join(dir, "client.key"),
		},
		"static_configs": []document{{"targets": []string{address}}},
	}, nil
}

// backfill makes blocks of the history.
func (p Prometheus) backfill(ctx context.Context, dir string) error {
	if p.History == "" {
		return nil
	}
	file := filepath.Join(dir, "history.txt")
	if err := os.WriteFile(file, []byte(p.History), 0o600); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", file, filepath.Join(dir, "data")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("promtool makes blocks of the history: %w: %s", err, out)
	}
	return nil
}

// NewAlertmanager runs an Alertmanager that sends nothing, until the test ends.
func NewAlertmanager(tb kube.TB) *Store {
	tb.Helper()
	s, err := RunAlertmanager(context.Background())
	return until(tb, s, err)
}

// RunAlertmanager runs an Alertmanager until Close.
func RunAlertmanager(ctx context.Context) (*Store, error) {
	return start(ctx, "prometheus-alertmanager", "/-/ready", func(address, dir string) ([]string, error) {
		file := filepath.Join(dir, "alertmanager.yml")
		config := "route: {receiver: none, group_wait: 1s}\nreceivers: [{name: none}]\n"
		return []string{
			"--config.file=" + file, "--storage.path=" + filepath.Join(dir, "data"),
			"--web.listen-address=" + address, "--cluster.listen-address=", "--log.level=warn",
		}, os.WriteFile(file, []byte(config), 0o600)
	})
}

// NewVictoriaMetrics runs a VictoriaMetrics of one node until the test ends. Import fills it.
func NewVictoriaMetrics(tb kube.TB) *Store {
	tb.Helper()
	s, err := RunVictoriaMetrics(context.Background())
	return until(tb, s, err)
}

// RunVictoriaMetrics runs a VictoriaMetrics until Close.
func RunVictoriaMetrics(ctx context.Context) (*Store, error) {
	return start(ctx, "victoria-metrics", "/health", func(address, dir string) ([]string, error) {
		return []string{
			"-httpListenAddr=" + address, "-storageDataPath=" + filepath.Join(dir, "data"), "-retentionPeriod=1y",
			// What was written a moment ago is found.
			"-search.latencyOffset=0s", "-loggerLevel=WARN",
		}, nil
	})
}

// Import writes text of the format that Prometheus scrapes, with or without timestamps, to a
// VictoriaMetrics, and returns when it is found.
func (s *Store) Import(ctx context.Context, text string) error {
	if err := s.Post(ctx, "/api/v1/import/prometheus", "text/plain", text); err != nil {
		return err
	}
	return s.get(ctx, "/internal/force_flush")
}

// NewVictoriaLogs runs a VictoriaLogs until the test ends. Insert fills it.
func NewVictoriaLogs(tb kube.TB) *Store {
	tb.Helper()
	s, err := RunVictoriaLogs(context.Background())
	return until(tb, s, err)
}

// RunVictoriaLogs runs a VictoriaLogs until Close.
func RunVictoriaLogs(ctx context.Context) (*Store, error) {
	binary, err := built("victorialogs")
	if err != nil {
		return nil, err
	}
	return start(ctx, binary, "/health", func(address, dir string) ([]string, error) {
		return []string{"-httpListenAddr=" + address, "-storageDataPath=" + filepath.Join(dir, "data"), "-retentionPeriod=1y", "-loggerLevel=WARN"}, nil
	})
}

// Insert writes lines of JSON, with the fields _time and _msg, to a VictoriaLogs, and returns
// when they are found. The fields of streams are those that tell streams apart.
func (s *Store) Insert(ctx context.Context, lines string, streams ...string) error {
	if err := s.Post(ctx, "/insert/jsonline?_stream_fields="+strings.Join(streams, ","), "application/stream+json", lines); err != nil {
		return err
	}
	return s.get(ctx, "/internal/force_flush")
}

// NewStateMetrics runs kube-state-metrics on a cluster until the test ends.
func NewStateMetrics(tb kube.TB, cluster *kube.Cluster) *Store {
	tb.Helper()
	s, err := RunStateMetrics(context.Background(), cluster)
	return until(tb, s, err)
}

// RunStateMetrics runs kube-state-metrics on a cluster until Close.
func RunStateMetrics(ctx context.Context, cluster *kube.Cluster) (*Store, error) {
	binary, err := built("statemetrics")
	if err != nil {
		return nil, err
	}
	return start(ctx, binary, "/healthz", func(address, _ string) ([]string, error) {
		own, err := port.Free()
		if err != nil {
			return nil, err
		}
		_, number, _ := strings.Cut(address, ":")
		return []string{
			"--kubeconfig=" + cluster.Kubeconfig(), "--host=127.0.0.1", "--port=" + number,
			"--telemetry-host=127.0.0.1", fmt.Sprintf("--telemetry-port=%d", own),
			"--resources=pods,deployments,statefulsets,daemonsets,replicasets,jobs,nodes,namespaces,services",
		}, nil
	})
}

// built finds a program that build.sh has made.
func built(name string) (string, error) {
	dir, err := kube.Built("test/stores/"+name, name, ErrNotBuilt)
	return filepath.Join(dir, name), err
}

// Post sends a body to the store.
func (s *Store) Post(ctx context.Context, path, kind, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	return do(req)
}

func (s *Store) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+path, nil)
	if err != nil {
		return err
	}
	return do(req)
}

func do(req *http.Request) error {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", req.Method, req.URL, resp.Status, bytes.TrimSpace(text))
	}
	return err
}
