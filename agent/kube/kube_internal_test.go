package kube

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
)

// serving is an API server that reports its served APIs.
type serving struct {
	mu     sync.Mutex
	groups []string
	away   bool
	reads  int
}

func (s *serving) set(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *serving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case s.away:
		w.WriteHeader(http.StatusInternalServerError)
	case r.URL.Path == "/version":
		fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`)
	case r.URL.Path == "/api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":[]}`)
	case r.URL.Path == "/apis":
		s.reads++
		var groups []string
		for _, g := range s.groups {
			groups = append(groups, fmt.Sprintf(`{"name":%q,"versions":[{"groupVersion":"%[1]s/v1","version":"v1"}],"preferredVersion":{"groupVersion":"%[1]s/v1","version":"v1"}}`, g))
		}
		fmt.Fprintf(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[%s]}`, strings.Join(groups, ","))
	default:
		fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[]}`, strings.TrimPrefix(r.URL.Path, "/apis/"))
	}
}

// look is one look at an API server, moved by a clock.
type look struct {
	*Cluster
	server *serving
	now    *clock.Manual
	events chan struct{}
	told   chan []string
	ended  chan struct{}
}

func newLook(t *testing.T) *look {
	t.Helper()
	l := &look{server: &serving{groups: []string{"apps"}}, now: clock.NewManual(time.Unix(1e9, 0)), events: make(chan struct{}, 1), told: make(chan []string, 10), ended: make(chan struct{})}
	server := httptest.NewServer(l.server)
	t.Cleanup(server.Close)
	l.Cluster = &Cluster{REST: &rest.Config{Host: server.URL, QPS: -1}, Clock: l.now, Log: slog.New(slog.DiscardHandler)}
	if _, err := l.Serves(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(l.ended)
		l.look(ctx, l.events, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.told <- l.served.Caps.APIVersions
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-l.ended
	})
	return l
}

// step lets the look that waits happen, and waits until it waits again or has
// ended.
func (l *look) step(t *testing.T) {
	t.Helper()
	eventually.For(t, time.Minute, "it waits", func() error {
		if n, _ := l.now.Waiting(); n == 0 {
			return fmt.Errorf("it does not")
		}
		return nil
	})
	_, next := l.now.Waiting()
	l.now.Advance(next.Sub(l.now.Now()))
	eventually.For(t, time.Minute, "it looked", func() error {
		select {
		case <-l.ended:
			return nil
		default:
		}
		if n, _ := l.now.Waiting(); n == 0 {
			return fmt.Errorf("it does not wait")
		}
		return nil
	})
}

func (l *look) hears(t *testing.T, group string) {
	t.Helper()
	select {
	case all := <-l.told:
		if !slices.Contains(all, group+"/v1") {
			t.Errorf("told of %v, not of %s", all, group)
		}
	default:
		t.Errorf("nobody was told of %s", group)
	}
}

// Two definitions come one after the other, and the API server serves the
// second one only after the look that finds the first.
func TestLookWaitsForWhatCameMeanwhile(t *testing.T) {
	l := newLook(t)
	l.server.set(func() { l.server.groups = append(l.server.groups, "first") })
	l.events <- struct{}{}
	l.step(t)
	l.hears(t, "first")
	l.server.set(func() { l.server.groups = append(l.server.groups, "second") })
	l.step(t)
	l.hears(t, "second")
	<-l.ended
}

// A busy API server takes its time, or does not answer for a while.
func TestLookIsPatient(t *testing.T) {
	l := newLook(t)
	for range 3 {
		l.step(t)
	}
	l.server.set(func() { l.server.away = true })
	for range 5 {
		l.step(t)
	}
	l.server.set(func() { l.server.away, l.server.groups = false, append(l.server.groups, "late") })
	l.step(t)
	l.hears(t, "late")
	<-l.ended
}

// Other readers of the served APIs report nothing.
func TestLookTellsWhatAnotherReadFirst(t *testing.T) {
	l := newLook(t)
	l.server.set(func() { l.server.away = true })
	l.step(t)
	l.server.set(func() { l.server.away, l.server.groups = false, append(l.server.groups, "new") })
	if _, err := l.Serves(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.step(t)
	l.hears(t, "new")
	<-l.ended
}

// An idle cluster costs nothing: a look that finds nothing new ends.
func TestLookEnds(t *testing.T) {
	l := newLook(t)
	for range 4 {
		l.step(t)
	}
	select {
	case <-l.ended:
	case <-time.After(time.Minute):
		t.Fatal("it looks on")
	}
	if len(l.told) > 0 {
		t.Error("told of nothing new")
	}
	l.server.set(func() {
		if l.server.reads != 5 {
			t.Errorf("%d reads, want the first and four", l.server.reads)
		}
	})
}

func TestNewsOfWhatIsServed(t *testing.T) {
	s := &watchState{known: map[string]incarnation{}}
	object := func(uid string, generation int64) metav1.Object {
		return &metav1.ObjectMeta{Name: "a", UID: types.UID(uid), Generation: generation}
	}
	for n, step := range []struct {
		kind   watch.EventType
		object metav1.Object
		want   bool
	}{
		{watch.Added, object("u1", 1), true},
		{watch.Modified, object("u1", 1), false}, // its status
		{watch.Modified, object("u1", 2), true},
		{watch.Added, object("u1", 2), false}, // the watch was opened anew
		{watch.Added, object("u2", 2), true},  // made again meanwhile
		{watch.Deleted, object("u2", 2), true},
		{watch.Added, object("u2", 2), true},
	} {
		if got := s.news(step.kind, step.object); got != step.want {
			t.Errorf("event %d: %v", n, got)
		}
	}
}

func TestDistro(t *testing.T) {
	for name, test := range map[string]struct {
		version string
		labels  map[string]string
		want    string
	}{
		"k3s":   {"v1.36.3+k3s1", nil, "K3S"},
		"eks":   {"v1.36.3-eks-abc", nil, "EKS"},
		"aks":   {"v1.36.3", map[string]string{"kubernetes.azure.com/cluster": "x"}, "AKS"},
		"plain": {"v1.36.3", nil, "GENERIC"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := distro(test.version, test.labels); got != test.want {
				t.Errorf("got %s", got)
			}
		})
	}
	for n, want := range map[int]int{0: 0, 7: 7, 99: 99, 104: 100, 105: 110, 1234: 1200} {
		if got := rounded(n); got != want {
			t.Errorf("%d nodes are told as %d, want %d", n, got, want)
		}
	}
}
