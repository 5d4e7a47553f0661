package poll_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/agent/poll"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/eventually"
)

// of makes a service that consists of several contents, each under a path of
// its name; its spec digest is as given.
func (h *hub) of(spec string, contents ...string) func(*agentv1.DesiredService, *agentv1.ServiceSpec) {
	digests := map[string]digest.Digest{}
	bodies := map[digest.Digest][]byte{}
	for _, content := range contents {
		d, body := pack(h.t, content)
		digests[content], bodies[d] = d, body
	}
	return func(w *agentv1.DesiredService, s *agentv1.ServiceSpec) {
		w.TarballDigest, w.SpecDigest, s.SpecDigest = "", spec, spec
		for i, content := range contents {
			h.tarballs[digests[content]] = bodies[digests[content]]
			w.Parts = append(w.Parts, &agentv1.Part{Name: fmt.Sprint("source ", i), Path: content, Digest: digests[content].String(), Entry: "in"})
		}
	}
}

func TestPartsAreFetchedOnceEach(t *testing.T) {
	h, c, dir := newHub(t), newCluster(), t.TempDir()
	h.put("web", "ignored", h.of("s1:1", "one", "shared"))
	first := start(t, h, c, dir)
	status := h.says("web", "Synced", "")
	main, _ := pack(t, "one")
	if status.GetTarballDigest() != main.String() || status.GetSpecDigest() != "s1:1" {
		t.Errorf("reported %s %s, want the first part's digest", status.GetTarballDigest(), status.GetSpecDigest())
	}
	// Another service shares a part: only the other one is fetched.
	h.put("api", "ignored", h.of("s1:2", "two", "shared"))
	h.says("api", "Synced", "")
	h.mu.Lock()
	if h.fetched != 3 {
		t.Errorf("%d downloads for three different parts", h.fetched)
	}
	h.mu.Unlock()
	c.set(func() {
		var got []string
		for _, p := range c.parts["web"] {
			got = append(got, p.Name+" "+p.Path+" "+p.Entry)
		}
		if diff := cmp.Diff([]string{"source 0 one in", "source 1 shared in"}, got); diff != "" {
			t.Errorf("rendered (-want +got):\n%s", diff)
		}
	})
	// After a restart with the hub unavailable all parts are on the disk.
	first.stop()
	h.mu.Lock()
	h.away = errors.New("the hub is away")
	list := h.list
	h.mu.Unlock()
	start(t, h, c, dir, func(cfg *poll.Config) { cfg.List = list })
	eventually.For(t, within, "a pass without the hub", func() error {
		if n := c.count(c.passes, "web"); n < 2 {
			return fmt.Errorf("%d passes", n)
		}
		return nil
	})
}

// A list and a spec that do not belong together are not mixed: the paths of
// the one go with the files of the other.
func TestPartsWaitForTheirSpec(t *testing.T) {
	h, c := newHub(t), newCluster()
	h.put("web", "ignored", h.of("s1:1", "one", "more"))
	start(t, h, c, t.TempDir())
	h.says("web", "Synced", "")
	h.put("web", "ignored", h.of("s1:2", "one", "other"), func(_ *agentv1.DesiredService, s *agentv1.ServiceSpec) { s.SpecDigest = "s1:3" })
	h.polled(4)
	if n := c.count(c.renders, "web"); n != 1 {
		t.Errorf("%d renders; the spec is of another list", n)
	}
	h.put("web", "ignored", h.of("s1:3", "one", "other"))
	eventually.For(t, within, "the list of that spec", func() error {
		if got := h.says("web", "Synced", "").GetSpecDigest(); got != "s1:3" {
			return fmt.Errorf("it runs %s", got)
		}
		return nil
	})
	if n := c.count(c.renders, "web"); n != 2 {
		t.Errorf("%d renders for two lists", n)
	}
}
