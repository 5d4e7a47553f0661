package peer_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// hub is the called replica.
type hub struct {
	mu      sync.Mutex
	kicks   []string
	seen    map[string]int64
	follows []string
	caller  string
}

func (h *hub) KickOwned(ctx context.Context, id, commit string, _ bool) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kicks, h.caller = append(h.kicks, id+"@"+commit), peer.Caller(ctx)
	if id == "none" {
		return false, errcode.New(errcode.NotFound, "repository none does not exist")
	}
	return id == "mine", nil
}

func (h *hub) ResolveOwned(_ context.Context, id string, source []byte) ([]byte, bool, error) {
	return append([]byte("head of "), source...), id == "mine", nil
}

func (h *hub) HandOver(_ context.Context, id, caller string) (string, int64, bool, error) {
	return "refs for " + caller, 7, id == "mine", nil
}

func (h *hub) FollowNow(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follows = append(h.follows, id)
}

func (h *hub) TakeSeen(_ context.Context, replica string, at map[string]int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen, h.caller = at, replica
}

func serve(t *testing.T, key string, c clock.Clock) (*hub, peer.Replica) {
	t.Helper()
	h := &hub{}
	path, handler, err := peer.NewHandler(peer.HandlerConfig{Key: []byte(key), Owner: h, Seen: h, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(path, handler)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return h, peer.Replica{Name: "hub-1", URL: server.URL}
}

func client(t *testing.T, key string, c clock.Clock) *peer.Client {
	t.Helper()
	client, err := peer.NewClient(peer.ClientConfig{Key: []byte(key), Replica: "hub-0", Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestCallsReachTheOtherReplica(t *testing.T) {
	h, to := serve(t, "key", nil)
	c := client(t, "key", nil)
	for id, want := range map[string]bool{"mine": true, "other": false} {
		if owned, err := c.Kick(t.Context(), to, id, "abc", false); err != nil || owned != want {
			t.Errorf("kick of %s: %v, %v", id, owned, err)
		}
	}
	if _, err := c.Kick(t.Context(), to, "none", "", false); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("kick of none: %v", err)
	} else if peer.Unanswered(err) || err.Error() != "repository none does not exist" {
		t.Errorf("kick of none says %q, unanswered %v", err, peer.Unanswered(err))
	}
	if _, err := c.Kick(t.Context(), peer.Replica{Name: "gone", URL: "http://127.0.0.1:1"}, "mine", "", false); !peer.Unanswered(err) || !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("kick of a replica that is gone: %v", err)
	}
	if head, owned, err := c.Resolve(t.Context(), to, "mine", []byte("x")); err != nil || !owned || string(head) != "head of x" {
		t.Errorf("resolve: %q, %v, %v", head, owned, err)
	}
	if refs, owned, err := c.HandOver(t.Context(), to, "mine"); err != nil || !owned || refs != "refs for hub-0" {
		t.Errorf("hand over: %q, %v, %v", refs, owned, err)
	}
	if err := c.Follow(t.Context(), to, "mine"); err != nil || !cmp.Equal(h.follows, []string{"mine"}) {
		t.Errorf("follow: %v, %v", h.follows, err)
	}
	want := map[string]int64{"c1": 5, "c2": 7}
	if err := c.TellSeen(t.Context(), to, want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, h.seen); diff != "" || h.caller != "hub-0" {
		t.Errorf("from %q (-want +got):\n%s", h.caller, diff)
	}
}

func TestUnsignedAndOldCallsAreRefused(t *testing.T) {
	h, to := serve(t, "key", nil)
	late := clock.NewManual(time.Now().Add(-2 * time.Minute))
	for name, c := range map[string]*peer.Client{"another key": client(t, "other", nil), "an old signature": client(t, "key", late)} {
		if _, err := c.Kick(t.Context(), to, "mine", "", false); !errcode.Is(err, errcode.Unauthorized) {
			t.Errorf("%s: %v", name, err)
		}
	}
	plain, err := http.Post(to.URL+"/axle.peer.v1.PeerService/Kick", "application/json", strings.NewReader(`{"repositoryId":"mine"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Body.Close()
	if plain.StatusCode != http.StatusUnauthorized || len(h.kicks) != 0 {
		t.Errorf("an unsigned call: %s, kicks %v", plain.Status, h.kicks)
	}
}

// swap changes the body on the way, as someone between the replicas would.
type swap struct{}

func (swap) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body = io.NopCloser(strings.NewReader(""))
	r.ContentLength = 0
	return http.DefaultTransport.RoundTrip(r)
}

func TestChangedBodyIsRefused(t *testing.T) {
	h, to := serve(t, "key", nil)
	c, err := peer.NewClient(peer.ClientConfig{Key: []byte("key"), Replica: "hub-0", HTTP: swap{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kick(t.Context(), to, "mine", "", false); !errcode.Is(err, errcode.Unauthorized) || len(h.kicks) != 0 {
		t.Errorf("%v, kicks %v", err, h.kicks)
	}
}
