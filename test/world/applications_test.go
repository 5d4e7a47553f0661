package world_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
)

// TestTheSecretOfAnApplication follows a client's secret to a real cluster: it arrives, is
// replaced, and goes with the application.
func TestTheSecretOfAnApplication(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge-1")
	key := func(name string) string {
		out, err := s.Kubectl(s.t.Context(), "edge-1", "get", "secret", "grafana", "--namespace", "monitoring", "--ignore-not-found", "-o", "jsonpath={.data."+name+"}")
		s.must(err)
		value, err := base64.StdEncoding.DecodeString(out.Out)
		s.must(err)
		return string(value)
	}
	is := func(what string, want func(secret string) bool) {
		s.t.Helper()
		eventually.For(s.t, 3*time.Minute, what, func() error {
			if secret := key("clientSecret"); !want(secret) {
				return fmt.Errorf("the Secret has a client secret of %d characters", len(secret))
			}
			return nil
		})
	}
	s.axle("applications", "apply", "grafana", "--project", "default", "--cluster", "edge-1", "--namespace", "monitoring", "--secret", "grafana", "--redirect-uris", "http://127.0.0.1/cb", "--users", "ada@example.com")
	is("the Secret arrives", func(secret string) bool { return len(secret) == 43 })
	first := key("clientSecret")
	//rest: the Secret is written whole
	if id, issuer := key("clientId"), key("issuer"); !strings.HasPrefix(id, "app_") || !strings.HasSuffix(issuer, "/oidc") {
		t.Errorf("the Secret is of the client %s at %s", id, issuer)
	}
	s.axle("applications", "rotate", "grafana", "--overlap", "2h")
	is("the new secret arrives", func(secret string) bool { return len(secret) == 43 && secret != first })
	// The end of the former one is known once the agent reported the new one.
	eventually.For(s.t, 3*time.Minute, "the former secret has an end", func() error {
		if shown := s.axle("applications", "client", "grafana"); !strings.Contains(shown, "ends at") {
			return fmt.Errorf("%s", shown)
		}
		return nil
	})
	s.axle("applications", "delete", "grafana", "--yes")
	is("the Secret goes", func(secret string) bool { return secret == "" })
}
