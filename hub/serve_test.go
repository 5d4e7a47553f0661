package hub_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

const limit = 60 * time.Second

func get(t *testing.T, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// trusting is a client that trusts only a hub's own authority.
func trusting(t *testing.T, caFile string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}}
}

func TestAnswersProbesAndMetrics(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	tests := map[string]struct {
		path, says string
	}{
		"health":    {"/healthz", "ok"},
		"readiness": {"/readyz", `"ready":true`},
		"metrics":   {"/metrics", "axle_desired_services 0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			resp, body := get(t, http.DefaultClient, h.URL+tc.path)
			if resp.StatusCode != http.StatusOK || !strings.Contains(body, tc.says) {
				t.Errorf("status %d: %.300s", resp.StatusCode, body)
			}
		})
	}
}

func TestMetricsMayMoveAway(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{Hub: hub.Config{MetricsListen: "127.0.0.1:0"}})
	if resp, _ := get(t, http.DefaultClient, h.URL+"/metrics"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestOwnAuthorityServesHTTP2ToThoseWhoTrustIt(t *testing.T) {
	dir := t.TempDir()
	h := hubtest.New(t, hubtest.Config{DataDir: dir, Hub: hub.Config{DevCA: true, Listen: "0.0.0.0:0", ExternalURL: "https://hub.example.com"}})
	if h.URL != "https://hub.example.com" || h.CAFile() != filepath.Join(dir, "ca.pem") {
		t.Errorf("URL %s, authority %s", h.URL, h.CAFile())
	}
	client := trusting(t, h.CAFile())
	local := "https://127.0.0.1:" + port(t, h)
	resp, _ := get(t, client, local+"/healthz")
	if resp.ProtoMajor != 2 || resp.TLS == nil || resp.TLS.PeerCertificates[0].VerifyHostname("hub.example.com") != nil {
		t.Errorf("protocol %s, certificate for %v", resp.Proto, resp.TLS.PeerCertificates[0].DNSNames)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, local+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		t.Error("a stranger trusted the hub", resp.Body.Close())
	}
	// After a restart clients go on trusting the same authority.
	before, err := os.ReadFile(h.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	again := hubtest.New(t, hubtest.Config{DataDir: dir, Hub: hub.Config{DevCA: true}})
	after, err := os.ReadFile(again.CAFile())
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the authority changed: %v", err)
	}
	get(t, client, again.URL+"/healthz")
}

func port(t *testing.T, h *hubtest.Hub) string {
	t.Helper()
	_, p, ok := strings.Cut(strings.TrimPrefix(h.Addr(), "["), "]:")
	if !ok {
		_, p, ok = strings.Cut(h.Addr(), ":")
	}
	if !ok {
		t.Fatalf("address %s", h.Addr())
	}
	return p
}

func TestCertificateFilesAreReadAtStart(t *testing.T) {
	dir := t.TempDir()
	_, err := hub.New(hub.Config{DataDir: dir, Listen: "127.0.0.1:0", TLSCert: filepath.Join(dir, "none.pem"), TLSKey: filepath.Join(dir, "none.key")})
	if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "--tls-cert") {
		t.Errorf("err = %v", err)
	}
}

func TestPlainHTTP2WorksOnLoopback(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	resp, _ := get(t, &http.Client{Transport: &http.Transport{Protocols: &protocols}}, h.URL+"/healthz")
	if resp.ProtoMajor != 2 {
		t.Errorf("protocol %s", resp.Proto)
	}
}

func TestDataFolderHasOneHub(t *testing.T) {
	dir := t.TempDir()
	h := hubtest.New(t, hubtest.Config{DataDir: dir})
	if _, err := hub.New(hub.Config{DataDir: dir, Listen: "127.0.0.1:0"}); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("second hub: %v", err)
	}
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	hubtest.New(t, hubtest.Config{DataDir: dir})
}

// output collects what the hub prints at its start.
type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.String()
}

func TestFirstLineSaysWhatToDo(t *testing.T) {
	dir, out := t.TempDir(), &output{}
	h, err := hub.New(hub.Config{DataDir: dir, Listen: "127.0.0.1:0", Deploy: os.DirFS("../deploy"), Out: out})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	eventually.For(t, limit, "the hub is ready", h.Ready)
	for _, part := range []string{h.URL(), h.SetupTokenFile(), "axle login"} {
		if line, _, _ := strings.Cut(out.String(), "\n"); !strings.Contains(line, part) {
			t.Errorf("first line %q lacks %q", line, part)
		}
	}
	info, err := os.Stat(h.SetupTokenFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("setup token: %v, %v", info, err)
	}
	// The token goes as soon as it was used.
	bearer, err := os.ReadFile(h.SetupTokenFile())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Parts().Accounts.Setup(ctx, strings.TrimSpace(string(bearer)), "a@example.com"); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, limit, "the setup token is removed", func() error {
		if _, err := os.Stat(h.SetupTokenFile()); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	stop()
	if err := <-ended; err != nil {
		t.Errorf("ended: %v", err)
	}
}

// A hub that is told to stop says so at /readyz and serves new connections on, until the
// delay is over.
func TestStoppingHubServesUntilLoadBalancersKnow(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{Hub: hub.Config{ShutdownDelay: 3 * time.Second}})
	begun, ended := time.Now(), make(chan error, 1)
	go func() { ended <- h.Stop() }()
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	eventually.For(t, limit, "/readyz fails", func() error {
		if resp, body := get(t, fresh, h.URL+"/readyz"); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "stopping") {
			return fmt.Errorf("status %d: %s", resp.StatusCode, body)
		}
		return nil
	})
	if resp, _ := get(t, fresh, h.URL+"/healthz"); resp.StatusCode != http.StatusOK {
		t.Errorf("a new connection gets status %d", resp.StatusCode)
	}
	if err := <-ended; err != nil || time.Since(begun) < 3*time.Second {
		t.Errorf("it ended after %s: %v", time.Since(begun), err)
	}
}

// The program has the files of the agent's manifests; a hub without them could upgrade no agent.
func TestHubNeedsTheManifests(t *testing.T) {
	h, err := hub.New(hub.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err == nil {
		t.Fatalf("the hub starts: %v", h.Close())
	}
	if !strings.Contains(err.Error(), "the agent's manifests: this program was built without their files") {
		t.Error(err)
	}
}

func TestReadinessNamesWhatIsMissing(t *testing.T) {
	h, err := hub.New(hub.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0", Deploy: os.DirFS("../deploy")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	rec := newRecorder()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	h.ServeHTTP(rec, req)
	var answer struct{ Waiting map[string]string }
	if err := json.Unmarshal(rec.body.Bytes(), &answer); err != nil || rec.status != http.StatusServiceUnavailable || answer.Waiting["feed"] == "" || answer.Waiting["desired"] == "" {
		t.Errorf("status %d: %s, %v", rec.status, rec.body.String(), err)
	}
}

// recorder is a response in memory.
type recorder struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{status: http.StatusOK, header: http.Header{}} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
