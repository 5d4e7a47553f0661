package gitcache_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestAStatusHasTheWordsOfWhoFailed checks that the repository's status has the
// error of the upstream, or of this machine: its readers have no access to the
// hub's log.
func TestAStatusHasTheWordsOfWhoFailed(t *testing.T) {
	t.Parallel()
	const password = "hunter2-hunter2"
	answers := map[string]struct {
		kind, says, words string
		status            int
	}{
		"text":       {"text/plain", "down for maintenance\nuntil noon", "down for maintenance until noon", 500},
		"json":       {"application/json; charset=utf-8", `{"message": "rate limit of the organisation reached"}`, "rate limit of the organisation reached", 502},
		"list":       {"application/json", `{"errors": [{"code": "DENIED", "message": "requested access is denied"}]}`, "DENIED: requested access is denied", 403},
		"xml":        {"application/xml", `<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>`, "SlowDown: Reduce your request rate.", 503},
		"its secret": {"application/json", `{"errors": [{"code": "UNAUTHORIZED", "message": "no user with the password ` + password + `"}]}`, "no user with the password", 401},
	}
	for name, tt := range answers {
		for _, kind := range []record.Kind{record.Git, record.Helm, record.Bucket, record.OCI} {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", tt.kind)
					w.WriteHeader(tt.status)
					_, _ = w.Write([]byte(tt.says))
				}))
				defer s.Close()
				w := &world{t: t, store: newStore(), dir: t.TempDir()}
				w.start(gitcache.ShortenGap)
				r := gitcache.Repository{Name: "app", Kind: kind, URL: s.URL + "/app", Auth: record.AuthBasic}
				if kind == record.OCI {
					r.URL, r.Options.PlainHTTP = "oci"+strings.TrimPrefix(s.URL, "http")+"/app", true
				}
				var err error
				if w.repo, err = w.cache.CreateRepository(t.Context(), r, gitcache.Credentials{Username: "ci", Password: password}); err != nil {
					t.Fatal(err)
				}
				w.failed(tt.words, password)
			})
		}
	}
}

// failed waits until the repository's status has the error, and checks that the
// status holds no secret.
func (w *world) failed(words, secret string) {
	w.t.Helper()
	eventually.For(w.t, patience, "the status", func() error {
		if h := w.health(); h.State != record.Failed {
			return errcode.New(errcode.Unavailable, "%+v", h)
		}
		return nil
	})
	message := w.health().Message
	if !strings.Contains(message, words) || strings.Contains(message, "internal error") || secret != "" && strings.Contains(message, secret) {
		w.t.Errorf("the status says %q, want %q", message, words)
	}
	if err := w.refresh(); err == nil || !strings.Contains(errcode.Message(err), words) {
		w.t.Errorf("a refresh says %q, want %q", errcode.Message(err), words)
	}
}

// TestAStatusHasTheWordsOfThisMachine is the same for a disk that cannot be
// written, for every kind of agent.
func TestAStatusHasTheWordsOfThisMachine(t *testing.T) {
	t.Parallel()
	w := &world{t: t, git: newGit(t, gitserver.Config{}), store: newStore(), dir: t.TempDir()}
	w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "one"})
	if err := os.WriteFile(filepath.Join(w.dir, "mirrors"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start(gitcache.ShortenGap)
	w.repo = w.create(gitcache.Credentials{})
	w.failed("not a directory", "")
}
