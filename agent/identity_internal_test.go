package agent

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/agent/identity"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// tokenHub accepts one deploy token at a time and gives a new one at each
// renewal. It exists to refuse.
type tokenHub struct {
	*httptest.Server
	key ed25519.PrivateKey

	mu       sync.Mutex
	good     string
	renewals int
	refuse   int // status of renewals, zero renews
	now      func() time.Time
}

func newTokenHub(t *testing.T) *tokenHub {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &tokenHub{key: key, good: "first", now: time.Now}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *tokenHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Header().Set("Date", h.now().UTC().Format(http.TimeFormat))
	if strings.HasSuffix(r.URL.Path, "/Renew") {
		h.renew(w, r)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+h.good {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"code":"unauthenticated","message":"no such token"}`)
		return
	}
	w.Header().Set("Content-Type", "application/proto")
}

func (h *tokenHub) renew(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var m agentv1.RenewRequest
	if err = errors.Join(err, proto.Unmarshal(body, &m)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	skew := h.now().Sub(clock.FromMicros(m.GetAt())).Abs()
	switch {
	case h.refuse != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(h.refuse)
		io.WriteString(w, `{"code":"aborted","message":"duplicate identity"}`)
		return
	case skew > 10*time.Minute:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"code":"unauthenticated","message":"the clocks differ"}`)
		return
	}
	h.renewals++
	h.good = "renewed"
	w.Header().Set("Content-Type", "application/proto")
	text, err := proto.Marshal(&agentv1.RenewResponse{DeployToken: h.good, DeployTokenExpiresAt: h.now().Add(24 * time.Hour).UnixMicro()})
	if err == nil {
		w.Write(text)
	}
}

func (h *tokenHub) session(t *testing.T, c clock.Clock) (*session, identity.File) {
	t.Helper()
	store := identity.File{Path: filepath.Join(t.TempDir(), "identity.json")}
	id, err := identity.New(h.URL, "uid")
	if err != nil {
		t.Fatal(err)
	}
	id.ClusterID, id.Token = "c1", "first"
	id.SigningKeys = map[string]ed25519.PublicKey{"k1": h.key.Public().(ed25519.PublicKey)}
	id.ReceivedAt, id.ExpiresAt = clock.Micros(c.Now()), clock.Micros(c.Now().Add(24*time.Hour))
	a := &Agent{cfg: Config{HubURL: h.URL, DataDir: t.TempDir(), Clock: c}, bootID: "b", identities: store}
	if err := a.cfg.check(); err != nil {
		t.Fatal(err)
	}
	a.page = newPage(a)
	client, err := hubclient.New(hubclient.Config{URL: h.URL, ClusterID: "c1", Token: id.Token, Keys: id.SigningKeys, Clock: c, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &session{agent: a, client: client, id: id}, store
}

func TestRefusedTokenIsRenewed(t *testing.T) {
	h := newTokenHub(t)
	s, store := h.session(t, clock.Real{})
	h.mu.Lock()
	h.good = "another" // the cluster was off for months
	h.mu.Unlock()
	if err := s.Ping(t.Context(), &agentv1.PingRequest{}); err != nil {
		t.Fatal(err)
	}
	kept, err := store.Load(t.Context())
	if err != nil || kept.Token != "renewed" || h.renewals != 1 {
		t.Errorf("stored %v, %v after %d renewals", kept, err, h.renewals)
	}
}

// A revoked cluster must not renew at every call.
func TestRevokedClusterDoesNotHammer(t *testing.T) {
	h := newTokenHub(t)
	s, _ := h.session(t, clock.Real{})
	h.mu.Lock()
	h.good, h.refuse = "nobody's", http.StatusConflict
	h.mu.Unlock()
	for range 5 {
		if err := s.Ping(t.Context(), &agentv1.PingRequest{}); err == nil {
			t.Fatal("a revoked cluster was let in")
		}
	}
	s.agent.page.mu.Lock()
	defer s.agent.page.mu.Unlock()
	if !strings.Contains(s.agent.page.problems["token"], "duplicate identity") {
		t.Errorf("the health page says %v", s.agent.page.problems)
	}
}

func TestAWrongClockDoesNotStopRenewals(t *testing.T) {
	h := newTokenHub(t)
	h.now = func() time.Time { return time.Now().Add(72 * time.Hour) }
	s, _ := h.session(t, clock.Real{})
	if err := s.renew(t.Context(), false); err != nil {
		t.Errorf("a clock that is three days behind: %v", err)
	}
}

func TestRenewedAfterTwoThirdsOfItsLife(t *testing.T) {
	h := newTokenHub(t)
	manual := clock.NewManual(time.Now())
	h.now = manual.Now
	s, _ := h.session(t, manual)
	if wait := s.untilRenewal(); wait < 15*time.Hour || wait > 18*time.Hour {
		t.Errorf("renewed after %v of 24 h", wait)
	}
	manual.Advance(18 * time.Hour)
	if wait := s.untilRenewal(); wait != 0 {
		t.Errorf("still %v to wait after 18 h", wait)
	}
	if err := s.renew(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if wait := s.untilRenewal(); wait < 15*time.Hour {
		t.Errorf("renewed again after %v", wait)
	}
}

func TestIdentityOnDisk(t *testing.T) {
	store := identity.File{Path: filepath.Join(t.TempDir(), "a", "identity.json")}
	if id, err := store.Load(t.Context()); id != nil || err != nil {
		t.Fatalf("got %v, %v without a file", id, err)
	}
	id, err := identity.New("https://hub", "uid")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Save(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(store.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the identity can be read by others: %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(store.Path, []byte("{damaged canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(context.Background()); !errcode.Is(err, errcode.Internal) || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v from a damaged file", err)
	}
}

func TestOneAgentAFolder(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFolder(dir); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("got %v for a second agent", err)
	}
	unlock()
	if unlock, err = lockFolder(dir); err != nil {
		t.Errorf("after the first one ended: %v", err)
	}
	unlock()
}

// A bootstrap token is good once; what cannot work must be found before it is
// used.
func TestRenderChildIsLookedForBeforeTheTokenIsUsed(t *testing.T) {
	dir := t.TempDir()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	kubeconfig, token := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "token")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: \"" + server.URL + "\"}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n"
	for path, text := range map[string]string{kubeconfig: text, token: "secret"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := New(Config{HubURL: server.URL, TokenFile: token, Kubeconfig: kubeconfig, DataDir: filepath.Join(dir, "data"),
		RenderBinary: filepath.Join(dir, "axle-render"), MetricsListen: "off"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := a.Run(ctx); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "--render-binary") {
		t.Errorf("got %v, want an error that names --render-binary", err)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests were made before", n)
	}
}
