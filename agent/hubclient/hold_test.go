package hubclient_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestAnythingElseHolds(t *testing.T) {
	d := newDouble(t)
	other := newDouble(t)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   hubclient.Reason
		says   string
	}{
		"portal": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("<html>Please sign in to the Wi-Fi</html>"))
		}, hubclient.NotTheHub, "not a hub"},
		"portal that redirects": {func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "https://portal.example/login", http.StatusFound)
		}, hubclient.Redirected, "portal.example"},
		"unknown token": {func(w http.ResponseWriter, _ *http.Request) {
			problem(w, 401, errcode.Unauthorized, "no such token")
		}, hubclient.Unauthorized, "no such token"},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) {
			problem(w, 403, errcode.Forbidden, "not for you")
		}, hubclient.Refused, "not for you"},
		"a proxy's own 403": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "blocked", http.StatusForbidden)
		}, hubclient.NotTheHub, "not a hub"},
		"hub starting": {func(w http.ResponseWriter, _ *http.Request) {
			problem(w, 503, errcode.Unavailable, "the index is not whole")
		}, hubclient.Busy, "not whole"},
		"gateway without hub": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "upstream", http.StatusBadGateway)
		}, hubclient.Busy, "gateway"},
		"not a list": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			w.Write([]byte("hello"))
		}, hubclient.NotTheHub, "cannot be read"},
		"unchanged though nothing was known": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotModified)
		}, hubclient.NotTheHub, "not a hub"},
		"list of another cluster": {func(w http.ResponseWriter, _ *http.Request) {
			d.send(w, &agentv1.Desired{
				ClusterId: "c2", Position: &agentv1.Position{Incarnation: life1, Sequence: 1},
				Incarnation: &agentv1.Incarnation{Id: life1}, Services: []*agentv1.DesiredService{{Id: "s1"}},
			})
		}, hubclient.Untrusted, "c2"},
		"list signed by a stranger": {func(w http.ResponseWriter, _ *http.Request) {
			other.sendList(w, life1, 1, "x")
		}, hubclient.Untrusted, "signature"},
		"nobody": {func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		}, hubclient.Unreachable, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			d.answer(test.answer)
			c := d.client(t)
			answer, err := c.Desired(t.Context(), "")
			if answer.List != nil || hubclient.ReasonOf(err) != test.want {
				t.Errorf("got %v and reason %q, want %q", answer.List, hubclient.ReasonOf(err), test.want)
			}
			contains(t, err, test.says)
			var held *hubclient.AnswerError
			if gone := name == "nobody" || name == "gateway without hub"; !errors.As(err, &held) || held.Away() != gone {
				t.Errorf("the hub is away: %t: %v", gone, err)
			}
			if c.Seen() != (hubclient.Position{}) {
				t.Errorf("an answer that was not taken moved the client to %s", c.Seen())
			}
		})
	}
}

func TestCallsHoldOnAPortal(t *testing.T) {
	d := newDouble(t)
	d.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<html>"))
	})
	if _, err := d.client(t).Report(t.Context(), &agentv1.ReportRequest{}); hubclient.ReasonOf(err) != hubclient.NotTheHub {
		t.Errorf("got %v, want an answer that is not the hub's", err)
	}
}

func TestBusyIsTriedAgain(t *testing.T) {
	d := newDouble(t)
	d.answer(func(w http.ResponseWriter, _ *http.Request) {
		if d.count() < 3 {
			problem(w, 503, errcode.Unavailable, "starting")
			return
		}
		d.sendList(w, life1, 1, "x")
	})
	answer, err := d.client(t, func(cfg *hubclient.Config) { cfg.Attempts = 3 }).Desired(t.Context(), "")
	if err != nil || answer.List == nil {
		t.Errorf("got %v, want the third answer", err)
	}
}

// TestReplicaThatIsBehindIsWaitedFor checks that its 503 counts, with its
// Retry-After, although it names an older position.
func TestReplicaThatIsBehindIsWaitedFor(t *testing.T) {
	d := newDouble(t)
	client := d.client(t, func(cfg *hubclient.Config) { cfg.Attempts = 1 })
	d.answer(func(w http.ResponseWriter, _ *http.Request) { d.sendList(w, life1, 7, "x") })
	if _, err := client.Desired(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	d.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Axle-Position", position(life1, 3))
		w.Header().Set("Retry-After", "1")
		problem(w, 503, errcode.Unavailable, "this replica has not caught up")
	})
	_, err := client.Desired(t.Context(), "")
	var answer *hubclient.AnswerError
	if !errors.As(err, &answer) || answer.Reason != hubclient.Busy || answer.RetryAfter() != time.Second {
		t.Errorf("err = %v", err)
	}
	if got := client.Seen().Sequence; got != 7 {
		t.Errorf("seen is %d now, want 7", got)
	}
	// An older answer of any other kind is dropped as before.
	d.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Axle-Position", position(life1, 3))
		problem(w, 404, errcode.NotFound, "no such cluster")
	})
	if _, err := client.Desired(t.Context(), ""); hubclient.ReasonOf(err) != hubclient.Stale {
		t.Errorf("err = %v", err)
	}
}

func TestPollIsSmall(t *testing.T) {
	d := newDouble(t)
	d.answer(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Axle-Position", position(life1, 9))
		w.Header().Set("Axle-Status", "abc")
		w.WriteHeader(http.StatusNotModified)
	})
	c := d.client(t, func(cfg *hubclient.Config) { cfg.Seen = hubclient.Position{Incarnation: life1, Sequence: 4} })
	answer, err := c.Desired(t.Context(), `W/"e"`)
	if err != nil || answer.List != nil || answer.StatusHash != "abc" {
		t.Fatalf("got %+v, %v", answer, err)
	}
	r := d.last()
	if got := r.Header.Get("Authorization"); got != "Bearer tok" {
		t.Errorf("authorization is %q", got)
	}
	if got := r.Header.Get("Axle-Seen"); got != position(life1, 4) {
		t.Errorf("seen is %q", got)
	}
	if len(r.Header) > 4 {
		t.Errorf("an idle poll has more headers than it needs: %v", r.Header)
	}
	if got := c.Seen().Sequence; got != 9 {
		t.Errorf("seen is %d after the answer, want 9", got)
	}
}

func TestPlainHTTPIsForThisMachine(t *testing.T) {
	_, err := hubclient.New(hubclient.Config{URL: "http://axle.example.com"})
	contains(t, err, "https")
	_, err = hubclient.New(hubclient.Config{URL: "https://axle.example.com/path"})
	contains(t, err, "without user, path")
}

func BenchmarkIdlePoll(b *testing.B) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Axle-Position"] = []string{life1 + ".4"}
		w.WriteHeader(http.StatusNotModified)
	}))
	server.Start()
	defer server.Close()
	c, err := hubclient.New(hubclient.Config{URL: server.URL, ClusterID: "c1", Token: "t", Keys: map[string]ed25519.PublicKey{}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Desired(context.Background(), `W/"e"`); err != nil {
			b.Fatal(err)
		}
	}
}
