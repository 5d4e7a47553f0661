package observe_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/logquery"
	"github.com/axle-cd/axle/internal/podlogs"
	"github.com/axle-cd/axle/internal/telemetry"
	"github.com/axle-cd/axle/test/stores"
)

// written are lines by their texts, with how often each came.
type written struct {
	mu      sync.Mutex
	lines   map[string]int
	notices []podlogs.Notice
}

func (w *written) take(b podlogs.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lines == nil {
		w.lines = map[string]int{}
	}
	for _, l := range b.Lines {
		w.lines[l.Text]++
	}
	w.notices = append(w.notices, b.Notices...)
	return nil
}

// once returns an error unless each of n lines came once.
func (w *written) once(n int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var wrong []string
	for i := range n {
		if text := "line " + strconv.Itoa(i); w.lines[text] != 1 {
			wrong = append(wrong, fmt.Sprintf("%s %d times", text, w.lines[text]))
		}
	}
	if len(w.lines) > n {
		wrong = append(wrong, fmt.Sprintf("%d other lines: %.500v", len(w.lines)-n, slices.Collect(maps.Keys(w.lines))))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d of %d: %.500s", len(wrong), n, strings.Join(wrong, ", "))
	}
	return nil
}

func following(t *testing.T, settings observe.Settings, sees observe.Namespaces) *observe.Target {
	t.Helper()
	o := observer(t, &seen{up: true, namespaces: sees}, &declared{settings: settings})
	target, err := o.ResolveLogs(t.Context(), asking(""))
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// Lines that are written between the answer to a search and the beginning of the tail are
// neither lost nor doubled, nor are those that a store finds late.
func TestNoLineIsLostBetweenSearchAndTail(t *testing.T) {
	store := stores.NewVictoriaLogs(t)
	n := 0
	insert := func(ctx context.Context, lines int, ago time.Duration) error {
		var text strings.Builder
		for range lines {
			fmt.Fprintf(&text, `{"_time":%q,"_msg":"line %d","kubernetes.pod_namespace":"mine","kubernetes.pod_name":"web-%d"}`+"\n", time.Now().Add(-ago).UTC().Format(time.RFC3339Nano), n, n%3)
			n++
		}
		return store.Insert(ctx, text.String(), "kubernetes.pod_namespace", "kubernetes.pod_name")
	}
	if err := insert(t.Context(), 20, 15*time.Second); err != nil {
		t.Fatal(err)
	}
	now := clock.NewManual(time.Now())
	o, err := observe.New(observe.Config{
		Store: &declared{settings: observe.Settings{Type: telemetry.VictoriaLogs, URL: store.URL()}}, Agents: &seen{up: true, namespaces: observe.Namespaces{Names: []string{"mine"}}},
		Sealer: sealing{}, Clock: now, ProjectOf: noProject, Transport: noTransport,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	target, err := o.ResolveLogs(t.Context(), asking(""))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got, first, ended := &written{}, make(chan struct{}), make(chan error, 1)
	go func() {
		answered := false
		ended <- target.Logs(ctx, logquery.Query{Start: time.Now().Add(-time.Minute)}, true, func(b podlogs.Batch) error {
			if !answered {
				// The search has been answered, and the tail has not begun: whoever reads was
				// slow, and these lines are of that time.
				answered = true
				now.Advance(20 * time.Second)
				if err := insert(ctx, 20, 8*time.Second); err != nil {
					return err
				}
				close(first)
			}
			return got.take(b)
		})
	}()
	<-first
	for range 10 {
		if err := insert(t.Context(), 5, 0); err != nil {
			t.Fatal(err)
		}
	}
	eventually.For(t, 30*time.Second, "all lines", func() error { return got.once(90) })
	// VictoriaLogs finds lines some seconds after they were written, and not in their order.
	if err := insert(t.Context(), 3, 3*time.Second); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, 30*time.Second, "late lines", func() error { return got.once(93) })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	eventually.For(t, 10*time.Second, "places", func() error { return observe.Idle(target) })
}

// loki plays a Loki after its public API documents: its server is under the AGPL, and no test
// runs it. It answers pages of query_range, forward or backward.
type loki struct {
	mu      sync.Mutex
	values  [][2]string // nanoseconds and text, in their order
	queries []string
	answer  func()
	most    int
}

func (l *loki) write(lines ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range lines {
		l.values = append(l.values, [2]string{strconv.FormatInt(time.Now().UnixNano(), 10), text})
	}
}

func (l *loki) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	start, _ := strconv.ParseInt(q.Get("start"), 10, 64)
	limit, _ := strconv.Atoi(q.Get("limit"))
	l.mu.Lock()
	l.queries = append(l.queries, q.Get("query"))
	var values [][2]string
	for _, v := range l.values {
		if at, _ := strconv.ParseInt(v[0], 10, 64); at >= start {
			values = append(values, v)
		}
	}
	answer := l.answer
	l.mu.Unlock()
	if limit > cmp.Or(l.most, logquery.Page) {
		http.Error(w, "max entries limit per query exceeded", http.StatusBadRequest)
		return
	}
	if len(values) > limit && q.Get("direction") == "forward" {
		values = values[:limit]
	} else if len(values) > limit {
		values = values[len(values)-limit:]
	}
	w.Header().Set("Content-Type", "application/json")
	stream := map[string]string{"namespace": "mine", "cluster": "edge-1"}
	text, _ := json.Marshal(map[string]any{"status": "success", "data": map[string]any{"resultType": "streams", "result": []any{map[string]any{"stream": stream, "values": values}}}})
	_, _ = io.WriteString(w, string(text))
	if answer != nil {
		answer()
	}
}

func TestLokiIsFollowed(t *testing.T) {
	l := &loki{most: 2000} // less than most have
	server := httptest.NewServer(l)
	defer server.Close()
	n := 0
	write := func(lines int) {
		for range lines {
			l.write("line " + strconv.Itoa(n))
			n++
		}
	}
	write(10)
	once := sync.OnceFunc(func() { write(10) })
	l.answer = once // between the answer to the search and the first page
	target := following(t, observe.Settings{Type: telemetry.Loki, URL: server.URL, ClusterLabel: "cluster", ClusterValue: "edge-1"}, observe.Namespaces{All: true})
	ctx, cancel := context.WithCancel(t.Context())
	got, ended := &written{}, make(chan error, 1)
	go func() { ended <- target.Logs(ctx, logquery.Query{}, true, got.take) }()
	eventually.For(t, 30*time.Second, "what came between", func() error { return got.once(20) })
	// More than a page, and one that is found late.
	write(logquery.Page + 100)
	late := strconv.FormatInt(time.Now().Add(-2*time.Second).UnixNano(), 10)
	eventually.For(t, 30*time.Second, "more than a page", func() error { return got.once(20 + logquery.Page + 100) })
	l.mu.Lock()
	l.values = slices.Insert(l.values, slices.IndexFunc(l.values, func(v [2]string) bool { return v[0] > late }), [2]string{late, "line " + strconv.Itoa(n)})
	n++
	l.mu.Unlock()
	eventually.For(t, 30*time.Second, "the late line", func() error { return got.once(n) })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, q := range l.queries {
		if q != `{namespace=~".+", cluster="edge-1"}` {
			t.Errorf("asked %s", q)
		}
	}
	eventually.For(t, 10*time.Second, "places", func() error { return observe.Idle(target) })
}

// Many collectors know no more than milliseconds, and some lines are of tomorrow.
func TestLinesOfOneTimeAndOfTheFutureAreFollowed(t *testing.T) {
	l := &loki{most: 1000}
	server := httptest.NewServer(l)
	defer server.Close()
	l.values = [][2]string{{strconv.FormatInt(time.Now().Add(24*time.Hour).UnixNano(), 10), "line 0"}}
	target := following(t, observe.Settings{Type: telemetry.Loki, URL: server.URL}, observe.Namespaces{All: true})
	ctx, cancel := context.WithCancel(t.Context())
	got, ended := &written{}, make(chan error, 1)
	go func() { ended <- target.Logs(ctx, logquery.Query{}, true, got.take) }()
	eventually.For(t, 30*time.Second, "the line of tomorrow", func() error { return got.once(1) })
	const n = 3000
	start := time.Now().Truncate(time.Millisecond)
	l.mu.Lock()
	for i := 1; i < n; i++ {
		at := start.Add(time.Duration(i/300) * time.Millisecond) // fewer of one time than a page
		l.values = slices.Insert(l.values, i-1, [2]string{strconv.FormatInt(at.UnixNano(), 10), "line " + strconv.Itoa(i)})
	}
	l.mu.Unlock()
	eventually.For(t, 30*time.Second, "all lines", func() error { return got.once(n) })
	cancel()
	<-ended
}

// A line that is written twice in a nanosecond comes twice, and more lines than are read are
// said with their times.
func TestMoreLinesThanAreReadAreSaid(t *testing.T) {
	l := &loki{}
	server := httptest.NewServer(l)
	defer server.Close()
	target := following(t, observe.Settings{Type: telemetry.Loki, URL: server.URL}, observe.Namespaces{Names: []string{"mine"}})
	ctx, cancel := context.WithCancel(t.Context())
	got, ended := &written{}, make(chan error, 1)
	go func() { ended <- target.Logs(ctx, logquery.Query{}, true, got.take) }()
	lines := make([]string, 40_000)
	for i := range lines {
		lines[i] = "flood"
	}
	l.write(lines...)
	eventually.For(t, 60*time.Second, "a gap", func() error {
		got.mu.Lock()
		defer got.mu.Unlock()
		if !slices.ContainsFunc(got.notices, func(n podlogs.Notice) bool { return n.Code == "gap" }) {
			return fmt.Errorf("%d lines, %v", got.lines["flood"], got.notices)
		}
		return nil
	})
	now := strconv.FormatInt(time.Now().UnixNano(), 10)
	l.mu.Lock()
	l.values = append(l.values, [2]string{now, "twice"}, [2]string{now, "twice"})
	l.mu.Unlock()
	eventually.For(t, 30*time.Second, "what comes after the gap", func() error {
		got.mu.Lock()
		defer got.mu.Unlock()
		if got.lines["twice"] != 2 || got.lines["flood"] >= len(lines) {
			return fmt.Errorf("%d and %d lines", got.lines["twice"], got.lines["flood"])
		}
		return nil
	})
	cancel()
	<-ended
}

// tunnel is one that goes down.
type tunnel struct {
	*seen
	up atomic.Bool
}

func (t *tunnel) Up(string) bool { return t.up.Load() }

// The end of the rights, or of the tunnel, is the end of a tail that is asked again and again.
func TestLokisTailEndsWithTheTunnel(t *testing.T) {
	server := httptest.NewServer(&loki{})
	defer server.Close()
	agents := &tunnel{seen: &seen{namespaces: observe.Namespaces{All: true}}}
	agents.up.Store(true)
	target, err := observer(t, agents, &declared{settings: observe.Settings{Type: telemetry.Loki, URL: server.URL}}).ResolveLogs(t.Context(), asking(""))
	if err != nil {
		t.Fatal(err)
	}
	first := sync.OnceFunc(func() { agents.up.Store(false) })
	err = target.Logs(t.Context(), logquery.Query{}, true, func(podlogs.Batch) error { first(); return nil })
	if !errcode.Is(err, errcode.Unavailable) || !strings.Contains(errcode.Text(err), "no tunnel") {
		t.Error(err)
	}
}
