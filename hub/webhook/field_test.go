package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/webhook"
	"github.com/axle-cd/axle/internal/eventually"
)

// deliveries are one file of test/field/webhooks.
type deliveries struct {
	Provider gitcache.Provider `json:"provider"`
	URL      string            `json:"url"`
	Rows     []struct {
		Event      string            `json:"event"`
		URL        string            `json:"url"`
		Header     map[string]string `json:"header"`
		Body       any               `json:"body"`
		Form       bool              `json:"form"`
		Restricted bool              `json:"restricted"`
		Twice      bool              `json:"twice"`
		Outcome    string            `json:"outcome"`
		Why        string            `json:"why"`
	} `json:"rows"`
}

// hosted are a repository at a Git host that cannot run here, and its webhook.
type hosted struct {
	repository gitcache.Repository
	hook       gitcache.Webhook
}

func (h hosted) WebhookSecret(context.Context, string) (gitcache.Webhook, string, error) {
	return h.hook, secret, nil
}
func (h hosted) Webhooks(context.Context) ([]gitcache.Webhook, error) {
	return []gitcache.Webhook{h.hook}, nil
}
func (hosted) NoteDelivery(context.Context, string, string) error { return nil }
func (h hosted) Repositories(context.Context) ([]gitcache.Repository, error) {
	return []gitcache.Repository{h.repository}, nil
}
func (hosted) Sources(context.Context, string) ([]gitcache.Source, error) {
	return []gitcache.Source{{Ref: "main"}, {Ref: "HEAD"}, {Ref: "refs/heads/environment/b2b"}}, nil
}
func (hosted) Refresh(context.Context, string) error { return nil }

// documented are how many kinds of delivery each provider's documentation had when it was gone through.
var documented = map[gitcache.Provider]int{gitcache.GitHub: 70, gitcache.GitLab: 45, gitcache.Gitea: 25, gitcache.Bitbucket: 45, gitcache.Azure: 12}

// TestDeliveriesOfTheField plays every row of test/field/webhooks.
func TestDeliveriesOfTheField(t *testing.T) {
	files, err := filepath.Glob("../../test/field/webhooks/*.yaml")
	if err != nil || len(files) != 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var all deliveries
		if err := yaml.UnmarshalStrict(text, &all); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		kinds, again := map[string]bool{}, false
		for _, row := range all.Rows {
			if kinds[row.Event] {
				t.Errorf("%s: %s is there twice", file, row.Event)
			}
			kinds[row.Event], again = true, again || row.Twice
		}
		if len(kinds) < documented[all.Provider] || !again {
			t.Errorf("%s: %d rows, want %d and more; one is a redelivery: %v", file, len(kinds), documented[all.Provider], again)
		}
		for _, row := range all.Rows {
			t.Run(string(all.Provider)+"/"+row.Event, func(t *testing.T) {
				h := hosted{gitcache.Repository{ID: "r", Name: "shop", URL: all.URL, Kind: gitcache.KindGit}, gitcache.Webhook{ID: "w", Provider: all.Provider}}
				if row.URL != "" {
					h.repository.URL = row.URL
				}
				if row.Restricted {
					h.hook.RepositoryID = "r"
				}
				s, err := webhook.New(webhook.Config{Hooks: h, Repositories: h})
				if err != nil {
					t.Fatal(err)
				}
				body, err := json.Marshal(row.Body)
				if err != nil {
					t.Fatal(err)
				}
				if row.Form {
					body = []byte(url.Values{"payload": {string(body)}}.Encode())
				}
				mux := http.NewServeMux()
				mux.Handle(webhook.Pattern, s)
				var answer struct{ Outcome, Message string }
				for range map[bool]int{false: 1, true: 2}[row.Twice] {
					r := httptest.NewRequest(http.MethodPost, webhook.Path(h.hook), bytes.NewReader(body))
					for k, v := range row.Header {
						r.Header.Set(k, v)
					}
					prove(r, body)
					w := httptest.NewRecorder()
					mux.ServeHTTP(w, r)
					if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusAccepted {
						t.Fatalf("status %d: %s", w.Code, w.Body)
					}
				}
				if answer.Outcome != row.Outcome {
					t.Errorf("%s: %s; want %s", answer.Outcome, answer.Message, row.Outcome)
				}
			})
		}
	}
}

// prove adds the secret of each provider.
func prove(r *http.Request, body []byte) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	signature := hex.EncodeToString(mac.Sum(nil))
	r.Header.Set("X-Hub-Signature-256", "sha256="+signature)
	r.Header.Set("X-Hub-Signature", "sha256="+signature)
	r.Header.Set("X-Gitea-Signature", signature)
	r.Header.Set("X-Gitlab-Token", secret)
	r.SetBasicAuth("axle", secret)
}

// body counts how much of it is read.
type body struct{ read int }

func (b *body) Read(p []byte) (int, error) {
	b.read += len(p)
	return len(p), nil
}

// TestStrangersBodiesAreNotRead sends deliveries without the secret, whose bodies do not end: where
// the header shows it, nothing of them takes memory.
func TestStrangersBodiesAreNotRead(t *testing.T) {
	for name, tc := range map[string]struct {
		provider gitcache.Provider
		header   string
		value    string
		reads    bool
	}{
		"GitLab, another secret":   {gitcache.GitLab, "X-Gitlab-Token", "guessed", false},
		"GitLab, no secret":        {gitcache.GitLab, "X-Other", "guessed", false},
		"Azure, another password":  {gitcache.Azure, "Authorization", "Basic YW5uOmd1ZXNzZWQ=", false},
		"GitHub, no signature":     {gitcache.GitHub, "X-Hub-Signature", "sha1=00", false},
		"GitHub, half a signature": {gitcache.GitHub, "X-Hub-Signature-256", "sha256=0", false},
		"GitLab, the secret":       {gitcache.GitLab, "X-Gitlab-Token", secret, true},
		"GitHub, a signature":      {gitcache.GitHub, "X-Hub-Signature-256", "sha256=" + strings.Repeat("0", 64), true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := webhook.New(webhook.Config{Hooks: hosted{hook: gitcache.Webhook{ID: "wh", Provider: tc.provider}}, Repositories: hosted{}})
			if err != nil {
				t.Fatal(err)
			}
			endless := &body{}
			r := httptest.NewRequest(http.MethodPost, webhook.Prefix+string(tc.provider)+"/wh", endless)
			r.SetPathValue("provider", string(tc.provider))
			r.SetPathValue("id", "wh")
			r.Header.Set(tc.header, tc.value)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if status := map[bool]int{false: http.StatusUnauthorized, true: http.StatusBadRequest}[tc.reads]; w.Code != status || (endless.read > 0) != tc.reads {
				t.Errorf("%d %s after %d bytes", w.Code, w.Body, endless.read)
			}
		})
	}
}

// A stranger who sends a part of a body and then nothing has the answer at once: whoever waits
// there counts in no bound.
func TestAStrangerIsAnsweredBeforeTheBody(t *testing.T) {
	s, err := webhook.New(webhook.Config{Hooks: hosted{hook: gitcache.Webhook{ID: "wh", Provider: gitcache.GitLab}}, Repositories: hosted{}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(webhook.Pattern, s)
	server := httptest.NewServer(mux)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// A delivery may take 10 s.
	if err := conn.SetDeadline(time.Now().Add(eventually.Loaded(2 * time.Second))); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST %s%s/wh HTTP/1.1\r\nHost: x\r\nX-Gitlab-Token: guessed\r\nContent-Length: 1000\r\n\r\n{", webhook.Prefix, gitcache.GitLab)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer before the body has come: %v", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("it is answered %s", answer.Status)
	}
}
