package authproxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// around holds all dependencies of a proxy and counts their calls.
type around struct {
	clusters, opened, callers, nonces, added, now int
	revoked                                       bool
}

func (a *around) Authenticate(context.Context, string) (identity.Principal, error) {
	return identity.Principal{Kind: identity.KindUser, Name: "ann@example.com", TokenID: "t1", Scopes: []string{identity.ScopeRead}}, nil
}

func (a *around) Caller(ctx context.Context, _ string) (identity.Principal, error) {
	if a.callers++; a.revoked {
		return identity.Principal{}, errcode.New(errcode.Unauthorized, "the token was revoked")
	}
	return a.Authenticate(ctx, "")
}

func (a *around) Authorize(context.Context, identity.Principal, identity.Action, identity.Scope) error {
	return nil
}

func (a *around) Seal(plain []byte, purpose string) string { return purpose + "\x00" + string(plain) }

func (a *around) Open(sealed, purpose string) ([]byte, error) {
	a.opened++
	plain, ok := strings.CutPrefix(sealed, purpose+"\x00")
	if !ok {
		return nil, errors.New("another purpose")
	}
	return []byte(plain), nil
}

func (a *around) Add(context.Context, audit.Record) { a.added++ }

func (a *around) AddNow(context.Context, audit.Record) error { a.now++; return nil }

// pod is a stream that answers with one word.
type pod struct{ io.Reader }

func (pod) Write(p []byte) (int, error) { return len(p), nil }
func (pod) CloseWrite() error           { return nil }
func (pod) Close() error                { return nil }
func (pod) Answer(context.Context) (*agentv1.StreamAnswer, error) {
	return &agentv1.StreamAnswer{Status: http.StatusOK, Headers: []*agentv1.StreamHeader{{Name: "Content-Length", Values: []string{"4"}}}}, nil
}

// TestAReadAsksNobodyTwice fixes the cost of a read: of a hundred within a
// second, only the first reads the database and opens the credential. The token
// is checked each time, and each read is recorded.
func TestAReadAsksNobodyTwice(t *testing.T) {
	a, now := &around{}, clock.NewManual(time.Unix(1_800_000_000, 0))
	p, err := authproxy.New(authproxy.Config{
		Open: func(context.Context, string, *agentv1.StreamHead) (authproxy.Stream, error) {
			return pod{strings.NewReader("done")}, nil
		},
		Identity: a, Audit: a, Sealer: a, Clock: now,
		Cluster: func(_ context.Context, handle string) (authproxy.Cluster, error) {
			a.clusters++
			return authproxy.Cluster{ID: "c1", Name: handle, Handle: handle}, nil
		},
		Now:      func(string) (c authproxy.Cluster, known bool) { return c, false },
		UseNonce: func(context.Context, []byte, int64, int64) error { a.nonces++; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	caller, err := a.Authenticate(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	bearer, _, err := p.Credential(t.Context(), caller, "edge", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	get := func(bearer string) (int, []byte) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/k8s/clusters/edge/api/v1/namespaces/default", nil)
		r.Header.Set("Authorization", "Bearer "+bearer)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		return w.Code, w.Body.Bytes()
	}
	*a = around{}
	for range 100 {
		if code, body := get(bearer); code != http.StatusOK || !bytes.Equal(body, []byte("done")) {
			t.Fatalf("answered %d %s", code, body)
		}
	}
	if got, want := fmt.Sprintf("%+v", *a), "{clusters:0 opened:1 callers:100 nonces:0 added:100 now:0 revoked:false}"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	if code, _ := get(bearer[:len(bearer)-4]); code != http.StatusUnauthorized {
		t.Errorf("another credential answered %d, want 401", code)
	}
	a.revoked = true
	if code, _ := get(bearer); code != http.StatusUnauthorized {
		t.Errorf("the credential of a revoked token answered %d, want 401", code)
	}
	a.revoked = false
	now.Advance(time.Minute)
	if code, _ := get(bearer); code != http.StatusUnauthorized {
		t.Errorf("a credential that is over answered %d, want 401", code)
	}
}
