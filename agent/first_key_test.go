package agent_test

import (
	"bytes"
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/agent/identity"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/clock"
)

// A token of an older hub names no key: it still registers, and the agent's log
// says what that means. One that names another key does not.
func TestATokenWithoutAKeyIsWarnedOf(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); strings.HasSuffix(r.URL.Path, "/Register") && got != "Bearer axle_secret" {
			t.Errorf("the hub gets %q", got)
		}
		text, err := proto.Marshal(&agentv1.RegisterResponse{
			ClusterId: "cl_1", ClusterName: "edge-1", DeployToken: "axle_deploy", SigningKeys: []*agentv1.SigningKey{{Id: "k1", PublicKey: public}},
		})
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/proto")
		_, _ = w.Write(text)
	}))
	t.Cleanup(hub.Close)
	for name, test := range map[string]struct {
		token string
		taken bool
		warns bool
	}{
		"the hub's key": {bootstrap.Join("axle_secret", public), true, false},
		"no key":        {"axle_secret", true, true},
		"another key":   {bootstrap.Join("axle_secret", other), false, false},
		"half a key":    {bootstrap.Join("axle_secret", public)[:40], false, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "token")
			if err := os.WriteFile(file, []byte(test.token+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			transport, err := hubclient.NewTransport(nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(transport.CloseIdleConnections)
			var log bytes.Buffer
			cfg := agent.Config{HubURL: hub.URL, TokenFile: file, DataDir: dir, Kubeconfig: "elsewhere", Clock: clock.Real{}, Log: slog.New(slog.NewTextHandler(&log, nil))}
			id := &identity.Identity{PrivateKey: private.Seed(), SealKey: "line", HubURL: hub.URL, ClusterUID: "uid"}
			err = agent.Register(t.Context(), cfg, transport, id)
			if (err == nil) != test.taken || id.Registered() != test.taken || id.FirstHeard != test.warns {
				t.Fatalf("registered %t, by the first answer %t: %v", id.Registered(), id.FirstHeard, err)
			}
			if got := strings.Contains(log.String(), "level=WARN"); got != test.warns {
				t.Errorf("the log warns: %t, want %t\n%s", got, test.warns, log.String())
			}
		})
	}
}
