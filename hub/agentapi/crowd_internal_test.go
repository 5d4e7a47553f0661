package agentapi

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/axle-cd/axle/hub/desired"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
)

// The parts of a hub that a poll of one cluster needs.
type (
	onlyIdentity struct{ Identity }
	onlyKeys     struct{ Keys }
	onlyFleet    struct{ Fleet }
	onlyDesired  struct{ Desired }
	onlyFeed     struct{ Feed }
	noTarballs   struct{ Tarballs }
	noChildren   struct{ Children }
)

func (onlyIdentity) Authenticate(_ context.Context, bearer string) (identity.Principal, error) {
	return identity.Principal{Kind: identity.KindCluster, ID: cmp.Or(bearer, "cls_1"), Name: "edge-1"}, nil
}
func (onlyKeys) Sign(context.Context, []byte) (agentkey.Signature, error) {
	return agentkey.Signature{KeyID: "key", Bytes: []byte("signed")}, nil
}
func (onlyFleet) Seen(string, time.Time)             {}
func (onlyFleet) StatusHash(string) string           { return "" }
func (onlyDesired) ETag(string) (string, error)      { return `W/"1"`, nil }
func (onlyDesired) For(string) (desired.List, error) { return desired.List{ETag: `W/"1"`}, nil }
func (onlyFeed) Position() event.Position            { return event.Position{} }
func (onlyFeed) Ready() error                        { return nil }
func (onlyFeed) Proof(event.Position) string         { return "" }
func (onlyFeed) Recall(string, string) bool          { return false }
func (onlyFeed) CatchUp(context.Context, event.Position, func(context.Context) error) error {
	return nil
}

func poll(s *Server, etag string, bearer ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, desiredPath, nil)
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	if len(bearer) > 0 {
		r.Header.Set("Authorization", "Bearer "+bearer[0])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestNoFurtherAgentBeginsWhileManyCallsAreUnderWay(t *testing.T) {
	s, err := New(Config{Identity: onlyIdentity{}, Keys: onlyKeys{}, Fleet: onlyFleet{}, Desired: onlyDesired{}, Tarballs: noTarballs{}, Feed: onlyFeed{}, Children: noChildren{}, MaxUnderWay: 4,
		Project: func(cluster string) string { return "project of " + cluster }})
	if err != nil {
		t.Fatal(err)
	}
	if got := poll(s, "").Code; got != http.StatusOK {
		t.Errorf("before: status %d", got)
	}
	// Two calls are under way until they are let go.
	entered, let := make(chan struct{}), make(chan struct{})
	call := (&edge{s}).WrapUnary(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) {
		entered <- struct{}{}
		<-let
		return connect.NewResponse(&struct{}{}), nil
	})
	ended := make(chan error, 3)
	for range 2 {
		go func() {
			_, err := call(identity.WithPrincipal(t.Context(), identity.Principal{ID: "cls_1"}), connect.NewRequest(&struct{}{}))
			ended <- err
		}()
	}
	<-entered
	<-entered
	for range 20 {
		got := poll(s, "")
		after, err := strconv.Atoi(got.Header().Get(retryHeader))
		if got.Code != http.StatusTooManyRequests || !strings.Contains(got.Body.String(), "(pool agent_calls)") || err != nil || after < 3 || after > 10 || got.Header().Get("Etag") != "" {
			t.Fatalf("status %d, headers %v", got.Code, got.Header())
		}
	}
	// Who has the list is in the middle of nothing that costs anything.
	if got := poll(s, `W/"1"`).Code; got != http.StatusNotModified {
		t.Errorf("an idle poll: status %d", got)
	}
	// Neither is who is in another project, and what has begun waits for its turn.
	if got := poll(s, "", "cls_2").Code; got != http.StatusOK {
		t.Errorf("a cluster of another project: status %d", got)
	}
	go func() {
		_, err := call(identity.WithPrincipal(t.Context(), identity.Principal{ID: "cls_1"}), connect.NewRequest(&struct{}{}))
		ended <- err
	}()
	let <- struct{}{}
	<-entered
	close(let)
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if got := poll(s, "").Code; got != http.StatusOK {
		t.Errorf("after: status %d", got)
	}
}
