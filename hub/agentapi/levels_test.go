package agentapi_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/hubtest"
)

// TestStoredBytesAreShared: replicas give the same bytes under the same ETag,
// because only the owner builds them, and they do so after the owner is gone.
func TestStoredBytesAreShared(t *testing.T) {
	t.Parallel()
	config := hubConfig()
	config.DatabaseURL, config.KeyFile = hubtest.Postgres(t), filepath.Join(t.TempDir(), "hub.key")
	b := newBedOn(t, config)
	hubs := []*hubtest.Hub{b.Hub, hubtest.New(t, hubtest.Config{Hub: config, AdminToken: b.AdminToken}), hubtest.New(t, hubtest.Config{Hub: config, AdminToken: b.AdminToken})}
	a := b.register("edge-1")
	b.declare("edge-1", "web", "web")
	path := "/agent/v1/tarballs/" + a.produced(1).GetServices()[0].GetTarballDigest()
	seen := a.get("/agent/v1/desired").header.Get("Axle-Position")
	repos, err := b.Parts().Cache.Repositories(t.Context())
	if err != nil || len(repos) != 1 {
		t.Fatalf("repositories %v, %v", repos, err)
	}
	var owner *hubtest.Hub
	var others []*hubtest.Hub
	for _, h := range hubs {
		if o, err := h.Parts().Cache.Owner(t.Context(), repos[0].ID); err == nil && o.Self {
			owner = h
		} else {
			others = append(others, h)
		}
	}
	if owner == nil {
		t.Fatal("no replica owns the repository")
	}
	ask := func(h *hubtest.Hub, level string) answer {
		t.Helper()
		twin := *a
		twin.origin = h.URL
		got := twin.get(path, "Axle-Seen", seen)
		if by := got.header.Get("Axle-Served-By"); got.status != http.StatusOK || !strings.HasSuffix(by, "/"+level) {
			t.Fatalf("status %d by %q, want level %s: %.200s", got.status, by, level, got.body)
		}
		return got
	}
	built := ask(owner, "disk")
	copied := ask(others[0], "owner")
	if err := owner.Stop(); err != nil {
		t.Fatal(err)
	}
	found := ask(others[1], "replica")
	again := ask(others[1], "disk")
	for name, got := range map[string]answer{"from the owner": copied, "from another": found, "from its disk": again} {
		if got.header.Get("Etag") != built.header.Get("Etag") || string(got.body) != string(built.body) {
			t.Errorf("%s: other bytes under %s, want %s", name, got.header.Get("Etag"), built.header.Get("Etag"))
		}
	}
}
