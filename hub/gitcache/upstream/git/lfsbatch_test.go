package git_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/internal/errcode"
)

// answerOfLFS is a row of lfsbatch.yaml.
type answerOfLFS struct {
	Field  string       `json:"field"`
	Effect string       `json:"effect"`
	Why    string       `json:"why"`
	Code   errcode.Code `json:"code"`
	Reason string       `json:"reason"`
	Of     int          `json:"of"`
	Bomb   int          `json:"bomb"`
	Answer string       `json:"answer"`
	Asked  []string     `json:"asked"`
}

// TestAnswersOfLFS plays every row of the table of a batch's answer.
func TestAnswersOfLFS(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../test/field/sources/lfsbatch.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Rows []answerOfLFS `json:"rows"`
	}
	if err := yaml.UnmarshalStrict(text, &table); err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for _, row := range table.Rows {
		names.WriteString(row.Field + "\n")
		t.Run(row.Field, func(t *testing.T) {
			t.Parallel()
			playAnswer(t, row)
		})
	}
	for _, name := range []string{"transfer", "hash_algo", "objects", "oid", "size", "authenticated", "actions", "href", "header", "expires_in", "expires_at", "error", "message", "ref"} {
		if !strings.Contains(names.String(), name) {
			t.Errorf("no row is about %s", name)
		}
	}
}

// playAnswer has a server give the answer of a row, and the file to whoever asks for it.
func playAnswer(t *testing.T, row answerOfLFS) {
	h := &lfsHost{file: []byte("the real bytes")}
	p := h.pointer()
	var mu sync.Mutex
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/team/shop.git")
		if user, _, ok := r.BasicAuth(); ok {
			line += " as " + user
		}
		if token := r.Header.Get("X-Token"); token != "" {
			line += " token " + token
		}
		mu.Lock()
		asked = append(asked, line)
		mu.Unlock()
		if r.Method == http.MethodGet {
			_, _ = w.Write(h.file)
			return
		}
		_, _ = io.WriteString(w, strings.NewReplacer("URL", "http://"+r.Host, "OID", p.OID, "SIZE", strconv.FormatInt(p.Size, 10), "BOMB", strings.Repeat(",{}", row.Bomb)).Replace(row.Answer))
	}))
	t.Cleanup(s.Close)
	to := &received{repository: newRepository(t)}
	srv := server(t, newUpstream(t, git.Config{}), git.Access{URL: s.URL + "/team/shop.git", Username: "me", Password: "secret"})
	err := srv.FetchLFS(t.Context(), to, "", slices.Repeat([]references.Pointer{p}, max(row.Of, 1)))
	switch row.Effect {
	case "refused":
		want := strings.ReplaceAll(row.Reason, "OID", p.OID)
		if want == "" || !errcode.Is(err, row.Code) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v (%s), want %q", err, errcode.Of(err), want)
		}
	case "obeyed", "ignored":
		if err != nil || string(to.file) != string(h.file) {
			t.Errorf("%q, %v", to.file, err)
		}
		if row.Effect == "ignored" && row.Why == "" {
			t.Error("the row does not say why")
		}
	default:
		t.Errorf("effect %q is none", row.Effect)
	}
	mu.Lock()
	defer mu.Unlock()
	if row.Asked != nil && !slices.Equal(asked, row.Asked) {
		t.Errorf("asked %q, want %q", asked, row.Asked)
	}
}
