package install_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/scale"
)

// playedAgents poll besides the real ones.
const playedAgents = 20

// Three replicas on Postgres lose one pod after the other, are upgraded and go back, and
// every poll of every agent is answered, each commit delivered and no repository moved.
// Before that, a database in which they cannot live ends the install with their own
// words, and the same command goes on once it is repaired.
func TestReplicasServeWhilePodsGoAndVersionsChange(t *testing.T) {
	sideBySide(t)
	h := prepareHA(t)
	h.refusedDatabase()
	h.must("install", "--kubeconfig", h.Kubeconfig(), "--values", h.values, "--email", "you@example.test", "--without-mgmt")
	h.populate(playedAgents)
	h.otherShape()

	names := []string{"axle-0", "axle-1", "axle-2"}
	if !soak { // each step once: the first is the one that the others follow
		names = names[:1]
	}
	for _, name := range names {
		h.calmly("delete "+name, func() { h.deletePod(name) })
	}
	h.calmly("an upgrade to an image that nobody has, and its repair", func() {
		_, errs, code := h.axle("upgrade", "--kubeconfig", h.Kubeconfig(), "--set", "hub.image.repository=nobody")
		if code == 0 || !strings.Contains(errs, "axle.test/nobody") {
			t.Errorf("it ends with %d: %s", code, errs)
		}
		if _, _, code := h.axle("upgrade", "--kubeconfig", h.Kubeconfig()); code != 0 {
			t.Errorf("the repair ends with %d", code)
		}
	})
	first := buildinfo.Version
	h.give(next)
	h.version = next
	h.calmly("upgrade", func() {
		if _, _, code := h.axle("upgrade", "--kubeconfig", h.Kubeconfig()); code != 0 {
			t.Errorf("axle upgrade ends with %d", code)
		}
	})
	h.replicasAre(next)
	h.version = ""
	h.calmly("rollback", func() {
		h.helm("rollback", "axle", h.goodRevision(first), "--namespace", "axle", "--wait")
	})
	h.replicasAre(first)
	h.connectedAgents()
}

// give lets the process kubelet run this tree's hub as another version.
func (b *bed) give(version string) {
	b.t.Helper()
	hub, err := bin.Path(b.t.Context(), "axle-hub", bin.Options{Version: version})
	must(b.t, err)
	b.SetBinary("axle-hub:"+version, hub)
}

// goodRevision is the one before the last of the release's history that ran.
func (b *bed) goodRevision(version string) string {
	b.t.Helper()
	revision := ""
	for line := range strings.Lines(b.helm("history", "axle", "--namespace", "axle")) {
		if fields := strings.Fields(line); strings.Contains(line, "superseded") && strings.Contains(line, version) {
			revision = fields[0]
		}
	}
	if revision == "" {
		b.t.Fatalf("no revision of %s was superseded", version)
	}
	return revision
}

// One hub on SQLite is upgraded and goes back: it answers again within a minute, and
// every agent polls on. So it is after an uninstall with agents connected, which is
// refused at first, and an install with the same name.
func TestOneHubComesBackWithinAMinute(t *testing.T) {
	sideBySide(t)
	b := newBed(t)
	b.must("install", "--kubeconfig", b.Kubeconfig(), "--values", b.values, "--email", "you@example.test")
	ca, fleet := b.fleet(5)
	b.give(next)
	interrupted := func(what string, do func()) { b.interrupted(what, ca, fleet, do) }
	b.version = next
	interrupted("upgrade", func() { b.must("upgrade", "--kubeconfig", b.Kubeconfig()) })
	if have := b.must("version"); !strings.Contains(have, next) {
		t.Errorf("after the upgrade: %s", have)
	}
	b.version = ""
	interrupted("back", func() { b.must("upgrade", "--kubeconfig", b.Kubeconfig()) })
	if have := b.must("version"); strings.Contains(have, next) {
		t.Errorf("after the way back: %s", have)
	}
	_, errs, code := b.axle("uninstall", "--kubeconfig", b.Kubeconfig())
	if code == 0 || !strings.Contains(errs, "agents of 5 clusters are connected: edge-00000") {
		t.Errorf("uninstall with agents: %d %s", code, errs)
	}
	must(t, fleet.PassAll(t.Context(), nil))
	b.must("uninstall", "--kubeconfig", b.Kubeconfig(), "--force")
	b.must("install", "--kubeconfig", b.Kubeconfig(), "--values", b.values)
	must(t, fleet.PassAll(t.Context(), nil))
}

// fleet joins simulated agents to a hub with an authority of its own.
func (b *bed) fleet(size int) (ca []byte, fleet *scale.Fleet) {
	b.t.Helper()
	ca = []byte(b.kubectl("-n", "axle", "get", "configmap", "axle-ca", "-o", `jsonpath={.data.ca\.pem}`))
	fleet = scale.New(scale.Config{URL: b.url, CAPEM: ca, OwnConnections: true, InMemory: true, Dir: b.t.TempDir()})
	token := strings.TrimSpace(b.must("tokens", "create", "--bootstrap", "--name-pattern", "edge-*", "--max-uses", strconv.Itoa(size), "--approved"))
	members := make([]scale.Member, size)
	for n := range members {
		members[n] = scale.Member{Name: scale.PlayedName(n), Token: token}
	}
	must(b.t, fleet.JoinAll(b.t.Context(), members, nil))
	must(b.t, fleet.PassAll(b.t.Context(), nil))
	return ca, fleet
}

// interrupted does something to the one hub: it answers again within a minute of a machine
// with free processors, and then every agent. It returns the longest time without an answer.
func (b *bed) interrupted(what string, ca []byte, fleet *scale.Fleet, do func()) time.Duration {
	b.t.Helper()
	end := b.watch(ca)
	do()
	gap, answers := end()
	if gap > eventually.Loaded(time.Minute) || answers < 2 {
		b.t.Errorf("%s: the hub did not answer for %s, and answered %d times", what, gap, answers)
	}
	b.t.Logf("%s: without an answer for %s", what, gap.Round(100*time.Millisecond))
	if err := fleet.PassAll(b.t.Context(), nil); err != nil {
		b.t.Errorf("%s: a poll is not answered again: %v", what, err)
	}
	return gap
}

// watch asks the hub ten times a second, as a stranger, until it is ended. It returns the
// longest time without an answer and how many came.
func (b *bed) watch(ca []byte) func() (time.Duration, int) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
	ctx, cancel := context.WithCancel(b.t.Context())
	var longest time.Duration
	var answers int
	var asking sync.WaitGroup
	asking.Go(func() {
		last := time.Now()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/readyz", nil)
			if err != nil {
				return
			}
			if answer, err := client.Do(request); err == nil {
				_ = answer.Body.Close()
				if answer.StatusCode == http.StatusOK {
					answers++
					last = time.Now()
				}
			}
			longest = max(longest, time.Since(last))
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return func() (time.Duration, int) {
		cancel()
		asking.Wait()
		return longest, answers
	}
}
