package terraform

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/scale/hubproc"
	"github.com/axle-cd/axle/test/scale/people"
)

// clusters are those that the services are on.
const clusters = 5

// Config says what is measured.
type Config struct {
	// Resources is how many services there are.
	Resources int
	Progress  func(format string, args ...any)
}

// Result is what was measured. Seconds include the start of terraform and the provider.
type Result struct {
	Resources int     `json:"resources"`
	ApplyS    float64 `json:"apply_s"`
	RefreshS  float64 `json:"refresh_s"`
	// CallsPerRefresh are the calls of the hub for each resource of a plan in which
	// nothing changes.
	CallsPerRefresh float64 `json:"hub_calls_per_resource_refresh"`
	CallsPerApply   float64 `json:"hub_calls_per_resource_apply"`
	ApplyHubCPU     float64 `json:"apply_hub_cpu_s"`
	RefreshHubCPU   float64 `json:"refresh_hub_cpu_s"`
	DestroyS        float64 `json:"destroy_s"`
}

// Measure applies, refreshes and destroys.
func Measure(ctx context.Context, c Config) (r Result, err error) {
	dir, err := os.MkdirTemp("", "bench-terraform")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := bin.Path(ctx, "axle-hub", bin.Options{})
	if err != nil {
		return r, err
	}
	provider, err := bin.Path(ctx, "terraform-provider-axle", bin.Options{})
	if err != nil {
		return r, err
	}
	hub, err := hubproc.Start(ctx, hubproc.Config{Dir: filepath.Join(dir, "hub"), Program: program})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, hub.Close()) }()
	admin, err := people.SetUp(ctx, people.Hub{URL: hub.URL(), CAPEM: hub.CA()}, hub.SetupTokenFile())
	if err != nil {
		return r, err
	}
	front, err := newFront(hub)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, front.server.Close()) }()
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return r, err
	}
	rc := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"axle-cd/axle\" = %q\n  }\n}\n", filepath.Dir(provider))
	for name, text := range map[string]string{"terraform.rc": rc, "main.tf": configuration(c.Resources)} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			return r, err
		}
	}
	b := &bench{hub: hub, front: front, work: work, token: admin.Token, say: c.Progress}
	return b.run(ctx, c.Resources)
}

// bench is one run.
type bench struct {
	hub         *hubproc.Replicas
	front       *front
	work, token string
	say         func(format string, args ...any)
}

func (b *bench) run(ctx context.Context, resources int) (r Result, err error) {
	r.Resources = resources
	var calls float64
	if r.ApplyS, r.ApplyHubCPU, calls, err = b.step(ctx, "apply", "-auto-approve", "-no-color"); err != nil {
		return r, err
	}
	r.CallsPerApply = calls / float64(resources)
	if r.RefreshS, r.RefreshHubCPU, calls, err = b.step(ctx, "plan", "-no-color", "-detailed-exitcode"); err != nil {
		return r, err
	}
	r.CallsPerRefresh = calls / float64(resources)
	r.DestroyS, _, _, err = b.step(ctx, "destroy", "-auto-approve", "-no-color")
	return r, err
}

// step runs terraform.
func (b *bench) step(ctx context.Context, args ...string) (seconds, cpu, calls float64, err error) {
	b.say("%s", args[0])
	before, counted, began := b.hub.Usage(), b.front.calls.Load(), time.Now()
	command := exec.CommandContext(ctx, "terraform", args...)
	command.Dir = b.work
	command.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(b.work, "terraform.rc"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
		"AXLE_HUB_URL="+b.front.url, "AXLE_TOKEN="+b.token)
	out, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("terraform %s: %w\n%s", args[0], err, out)
	}
	return time.Since(began).Seconds(), (b.hub.Usage() - before).Seconds(), float64(b.front.calls.Load() - counted), err
}

// configuration are services on a few clusters.
func configuration(services int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `terraform {
  required_providers {
    axle = {
      source = "axle-cd/axle"
    }
  }
}
resource "axle_cluster" "c" {
  count = %d
  name  = "edge-${count.index}"
}
resource "axle_repository" "fleet" {
  name = "fleet"
  url  = "https://git.example.com/platform/fleet.git"
}
resource "axle_service" "s" {
  count         = %d
  cluster       = axle_cluster.c[count.index %% %d].name
  name          = "service-${count.index}"
  repository    = axle_repository.fleet.name
  git           = { ref = "main", folder = "apps/${count.index}" }
  configuration = { number = tostring(count.index) }
}
`, clusters, services, clusters)
	return b.String()
}

// front is a proxy that counts the calls of the hub's API.
type front struct {
	url    string
	calls  atomic.Int64
	server *http.Server
}

func newFront(hub *hubproc.Replicas) (*front, error) {
	target, err := url.Parse(hub.URL())
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(hub.CA())
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 32}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &front{url: "http://" + listener.Addr().String()}
	f.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.calls.Add(1)
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = f.server.Serve(listener) }()
	return f, nil
}
