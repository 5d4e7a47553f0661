package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
)

const watchLimit = time.Minute

// wire is the network between axle and a hub. It counts the bytes of both directions.
type wire struct {
	net.Listener
	to    atomic.Value
	moved atomic.Int64
}

func newWire(t testing.TB, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l}
	w.lead(to)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(c)
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return w
}

// lead says where the wire ends.
func (w *wire) lead(hubURL string) { w.to.Store(strings.TrimPrefix(hubURL, "http://")) }

func (w *wire) carry(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", w.to.Load().(string))
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(counting{to, &w.moved}, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(counting{from, &w.moved}, to)
}

type counting struct {
	io.Writer
	n *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// text is an output that is read while a command writes it.
type text struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *text) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *text) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// watching is axle with --watch.
type watching struct {
	out, errs text
	ended     chan int
}

func watch(t testing.TB, args ...string) *watching {
	t.Helper()
	w := &watching{ended: make(chan int, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.ended <- cli.Run(ctx, args, cli.Streams{In: strings.NewReader(""), Out: &w.out, Err: &w.errs})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// shows waits until a text was printed so often.
func (w *watching) shows(t testing.TB, what string, times int) {
	t.Helper()
	eventually.For(t, watchLimit, fmt.Sprintf("%q is printed %d times", what, times), func() error {
		if n := strings.Count(w.out.String(), what); n < times {
			return fmt.Errorf("it is printed %d times: %s", n, w.errs.String())
		}
		return nil
	})
}

// fleetHub is a hub with a fleet, and a wire to it that axle is set up to use.
type fleetHub struct {
	*hubtest.Hub
	*wire
	client *sdk.Client
}

func newFleetHub(t testing.TB, clusters, services int) *fleetHub {
	t.Helper()
	folder := hubtest.Folder(t)
	hubtest.FillFleet(t, "sqlite", filepath.Join(folder, "hub.db"), clusters, services)
	f := &fleetHub{}
	f.start(t, folder)
	f.wire = newWire(t, f.URL)
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("AXLE_HUB_URL", "http://"+f.wire.Addr().String())
	t.Setenv("AXLE_TOKEN", f.AdminToken)
	return f
}

func (f *fleetHub) start(t testing.TB, folder string) {
	t.Helper()
	f.Hub = hubtest.New(t, hubtest.Config{DataDir: folder, Hub: hubtest.HubConfig{DataDir: folder}})
	var err error
	if f.client, err = sdk.New(sdk.Config{URL: f.URL, Token: f.AdminToken}); err != nil {
		t.Fatal(err)
	}
}

// degraded are the first services that are Failed and Degraded.
func (f *fleetHub) degraded(t testing.TB, n int) (refs []*hubv1.ServiceRef) {
	t.Helper()
	got, err := f.client.Services.List(t.Context(), connect.NewRequest(&hubv1.ListServicesRequest{Health: []string{"Degraded"}, PageSize: int32(n)}))
	if err != nil || len(got.Msg.GetServices()) != n {
		t.Fatalf("%d services, %v", len(got.Msg.GetServices()), err)
	}
	for _, s := range got.Msg.GetServices() {
		refs = append(refs, &hubv1.ServiceRef{Cluster: s.GetCluster(), Name: s.GetName()})
	}
	return refs
}

func (f *fleetHub) pause(t testing.TB, refs ...*hubv1.ServiceRef) {
	t.Helper()
	for _, ref := range refs {
		if _, err := f.client.Services.Pause(t.Context(), connect.NewRequest(&hubv1.PauseServiceRequest{Ref: ref})); err != nil {
			t.Fatal(err)
		}
	}
}

// refreshed returns how many bytes the first list of the services that are Degraded
// moves, and how many the change of some of them.
func refreshed(t testing.TB, f *fleetHub, total, changed int) (first, refresh int64) {
	t.Helper()
	w := watch(t, "services", "list", "--health", "Degraded", "--watch", "--no-headers")
	w.shows(t, "\n", total)
	first = f.moved.Load()
	f.pause(t, f.degraded(t, changed)...)
	w.shows(t, "Paused", changed)
	return first, f.moved.Load() - first
}

// A refresh of a watched list moves at most 50 kB: what changed, however many services
// the fleet or the list has.
func TestARefreshOfAWatchMovesAtMost50kB(t *testing.T) {
	sizes, moved := []int{400, 4000}, map[int]int64{}
	if os.Getenv("AXLE_SOAK") != "" {
		sizes = append(sizes, 100_000)
	}
	for _, services := range sizes {
		f := newFleetHub(t, services/10, services)
		first, refresh := refreshed(t, f, services/10, 30)
		moved[services] = refresh
		t.Logf("%d services: the first list moves %d bytes, a refresh of 30 services %d", services, first, refresh)
		if refresh > 50_000 {
			t.Errorf("of %d services, a refresh of 30 moves %d bytes", services, refresh)
		}
		// Up to thirty batches in place of a few, as a slow machine makes them, cost some headers
		// each; another reading of the list of 4,000 services costs 10 kB.
		if refresh > moved[400]+8_000 {
			t.Errorf("%d services move %d bytes instead of %d", services, refresh, moved[400])
		}
	}
}

// What leaves a watched list is named, what enters it is a row, and what changes
// elsewhere is nothing. Programs get one JSON value on a line.
func TestAWatchedListGainsAndLosesRows(t *testing.T) {
	f := newFleetHub(t, 20, 100)
	failed, paused := watch(t, "services", "list", "--sync", "failed", "--watch"), watch(t, "services", "list", "--sync", "Paused", "--watch", "-o", "json")
	failed.shows(t, "Failed", 10)
	// A list without rows is read when a change comes that it does not have.
	refs := f.degraded(t, 2)
	eventually.For(t, watchLimit, "the paused services are followed", func() error {
		f.pause(t, refs[1])
		if !strings.Contains(paused.out.String(), refs[1].GetName()) {
			return errors.New("nothing is printed")
		}
		return nil
	})
	f.pause(t, refs[0])
	eventually.For(t, watchLimit, "what left is named", func() error {
		for _, ref := range refs {
			if gone := ref.GetCluster() + "/" + ref.GetName() + " is gone\n"; strings.Count(failed.errs.String(), gone) != 1 {
				return fmt.Errorf("not %q: %s", gone, failed.errs.String())
			}
		}
		return nil
	})
	paused.shows(t, "\n", 2)
	for line := range strings.Lines(paused.out.String()) {
		if !strings.HasPrefix(line, `{"cluster":`) || !strings.HasSuffix(line, "}\n") {
			t.Errorf("a line is %q", line)
		}
	}
	if n := strings.Count(failed.out.String(), "\n"); n != 11 {
		t.Errorf("%d lines:\n%s", n, failed.out.String())
	}
}

// A watch goes on when the hub comes back, and repeats no row.
func TestAWatchGoesOnAfterARestart(t *testing.T) {
	f := newFleetHub(t, 20, 100)
	w, clusters := watch(t, "services", "list", "--health", "Degraded", "--watch", "--no-headers"), watch(t, "clusters", "list", "--watch", "--no-headers")
	w.shows(t, "\n", 10)
	clusters.shows(t, "\n", 20)
	ref := f.degraded(t, 1)[0]
	folder := f.DataDir
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, watchLimit, "the trouble is named", func() error {
		if !strings.Contains(w.errs.String(), "trying again") {
			return errors.New(w.errs.String())
		}
		return nil
	})
	f.start(t, folder)
	f.lead(f.URL)
	f.pause(t, ref)
	w.shows(t, "Paused", 1)
	if n := strings.Count(w.out.String(), "\n"); n != 11 {
		t.Errorf("%d lines:\n%s", n, w.out.String())
	}
	if strings.Contains(w.errs.String(), "is gone") {
		t.Errorf("said %s", w.errs.String())
	}
}

// A watch whose token ends says so and fails.
func TestAWatchEndsWithItsToken(t *testing.T) {
	f := newFleetHub(t, 20, 100)
	made, err := f.client.Tokens.Create(t.Context(), connect.NewRequest(&hubv1.CreateTokenRequest{Name: "short", Scopes: []string{"read"}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AXLE_TOKEN", made.Msg.GetSecret())
	w := watch(t, "services", "list", "--watch", "--no-headers")
	w.shows(t, "\n", 100)
	if _, err := f.client.Tokens.Revoke(t.Context(), connect.NewRequest(&hubv1.RevokeTokenRequest{Id: made.Msg.GetToken().GetId()})); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-w.ended:
		if code == 0 || !strings.Contains(w.errs.String(), "revoked or has expired") {
			t.Errorf("exit %d: %s", code, w.errs.String())
		}
	case <-time.After(watchLimit):
		t.Fatalf("it goes on: %s", w.errs.String())
	}
}

// A list of more than one page is whole, in each format, and --limit says how to read on.
func TestAListOfSeveralPages(t *testing.T) {
	newFleetHub(t, 60, 1200)
	s := &shell{T: t, dir: t.TempDir()}
	if n := strings.Count(s.exits(0, "services list -q"), "\n"); n != 1200 {
		t.Errorf("%d names", n)
	}
	if n := strings.Count(s.exits(0, "services list -o json"), `"desiredRevision":`); n != 1200 {
		t.Errorf("%d services", n)
	}
	for _, noun := range []string{"services --sync Synced", "services", "clusters", "repos"} {
		noun, flags, _ := strings.Cut(noun, " ")
		whole := s.exits(0, noun+" list -q "+flags)
		if noun == "repos" {
			continue // their whole list fits on one page
		}
		var parts strings.Builder
		after := ""
		for range 100 {
			code, out, errs := s.run(noun + " list -q --limit 13 " + flags + after)
			if code != 0 {
				t.Fatal(errs)
			}
			parts.WriteString(out)
			_, token, more := strings.Cut(errs, "--after ")
			if !more {
				break
			}
			after = " --after " + strings.Fields(token)[0]
		}
		if parts.String() != whole {
			t.Errorf("%s %s in parts:\n%s\nas a whole:\n%s", noun, flags, parts.String(), whole)
		}
	}
	s.exits(2, "services list --limit 5 --watch", "--watch follows a whole list")
	s.exits(2, "services list --limit -1", "--limit -1")
	s.exits(2, "services list --health Broken", `--health "Broken" is not one of Healthy, Progressing`)
	s.exits(2, "clusters list --freshness Old", `--freshness "Old" is not one of Fresh, Stale, Unknown`)
	s.exits(0, "services list --sync Held", "nothing found")
	s.exits(1, "services list --after nonsense", "page token")
}

// BenchmarkWatchedList measures the bytes of a watched list of 10,000 services that are
// Degraded, of 100,000.
func BenchmarkWatchedList(b *testing.B) {
	f := newFleetHub(b, 10_000, 100_000)
	for b.Loop() {
		began := f.moved.Load()
		if code := cli.Run(b.Context(), []string{"services", "list", "-q"}, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}); code != 0 {
			b.Fatalf("exit %d", code)
		}
		all := f.moved.Load() - began
		w := watch(b, "services", "list", "--health", "Degraded", "--watch", "--no-headers")
		w.shows(b, "\n", 10_000)
		first := f.moved.Load() - began - all
		refs := f.degraded(b, 100)
		settled := f.moved.Load()
		f.pause(b, refs...)
		w.shows(b, "Paused", 100)
		refresh := f.moved.Load() - settled
		settled = f.moved.Load()
		idle := time.NewTimer(20 * time.Second) // a heartbeat comes each 15 s
		<-idle.C
		for name, bytes := range map[string]int64{"kB-all": all, "kB-first": first, "kB-refresh": refresh, "kB-idle": f.moved.Load() - settled} {
			b.ReportMetric(float64(bytes)/1000, name)
		}
	}
}
