package gitcache_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestServesDuringUpstreamOutage checks that nothing that was read from an
// upstream is lost while the upstream is down: not the heads, not the tarballs,
// not those that must be rebuilt, even after a restart of the hub.
func TestServesDuringUpstreamOutage(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(*gitserver.Server) error{
		"refused": func(s *gitserver.Server) error { return s.Down() },
		"500":     fault(gitserver.Fault{Status: 500}),
		"401":     fault(gitserver.Fault{Status: 401}),
		"404":     fault(gitserver.Fault{Status: 404}),
		"html":    fault(gitserver.Fault{Body: "<html>\nplease sign in</html>\n"}),
		"reset":   fault(gitserver.Fault{Reset: true}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "refused" {
				servesDuring(t, outage) // at the product's own pace
				return
			}
			servesDuring(t, outage, gitcache.ShortenGap)
		})
	}
}

func fault(f gitserver.Fault) func(*gitserver.Server) error {
	return func(s *gitserver.Server) error { s.SetFault(repoName, f); return nil }
}

func servesDuring(t *testing.T, outage func(*gitserver.Server) error, options ...option) {
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "one", "b/cm.yaml": "other"}, options...)
	a := w.track("main", "a")
	before := w.head(a, good)
	if got := w.content(before, "cm.yaml"); got != "one" {
		t.Fatalf("content is %q", got)
	}
	if err := outage(w.git); err != nil {
		t.Fatal(err)
	}
	if err := w.refresh(); err == nil {
		t.Fatal("a refresh went well during the outage")
	}
	health := w.health()
	if health.State != record.Failed || health.Message == "" || health.FailedSince.IsZero() || health.CheckedAt.IsZero() {
		t.Errorf("health is %+v", health)
	}
	if after := w.head(a, good); after != before {
		t.Errorf("the head changed by the outage:\n%+v\n%+v", before, after)
	}
	if got := w.content(before, "cm.yaml"); got != "one" {
		t.Errorf("content is %q", got)
	}

	// A hub that lost its tarballs and was restarted rebuilds them.
	w.stop()
	if err := os.RemoveAll(filepath.Join(w.dir, "tarballs")); err != nil {
		t.Fatal(err)
	}
	w.start(options...)
	w.head(w.track("main", "b"), good) // new, but the mirror has it
	if got := w.content(before, "cm.yaml"); got != "one" {
		t.Errorf("content after the restart is %q", got)
	}
	if after := w.head(a, good); after.Digest != before.Digest || after.Error != "" {
		t.Errorf("the head changed by the restart: %+v", after)
	}

	// It heals by itself.
	w.git.SetFault(repoName, gitserver.Fault{})
	if err := w.git.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "two"})
	w.mustRefresh()
	if got := w.content(w.head(a, at(id)), "cm.yaml"); got != "two" {
		t.Errorf("content after the outage is %q", got)
	}
	if h := w.health(); h.State != record.Pullable || h.Message != "" || !h.FailedSince.IsZero() {
		t.Errorf("health after the outage is %+v", h)
	}
}

// TestServesDuringUpstreamOutageSeesALoss breaks the rule on purpose: a hub
// whose mirror and tarballs are both gone cannot serve, and says so.
func TestServesDuringUpstreamOutageSeesALoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "one"}, gitcache.ShortenGap)
	before := w.head(w.track("main", "a"), good)
	w.stop()
	if err := w.git.Down(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"tarballs", "mirrors"} {
		if err := os.RemoveAll(filepath.Join(w.dir, d)); err != nil {
			t.Fatal(err)
		}
	}
	w.start(gitcache.ShortenGap)
	if err := w.refresh(); err == nil {
		t.Fatal("refreshed")
	}
	f, err := w.cache.Fetch(t.Context(), before.Digest)
	if err == nil {
		t.Fatalf("served %d bytes out of nothing", f.Size)
	}
	if !strings.Contains(fmt.Sprint(err), "not copied") {
		t.Errorf("error is %v", err)
	}
}
