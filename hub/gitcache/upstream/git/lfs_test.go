package git_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/gitserver"
)

// lfsHost is an LFS server that is no Git server. It records who asks.
type lfsHost struct {
	*httptest.Server
	file []byte
	// user and password are wanted if set; moved is where a batch is redirected to.
	user, password, moved string
	status                int

	mu    sync.Mutex
	asked []string // method, path and, if there are any, the credentials
}

func newLFSHost(t *testing.T) *lfsHost {
	t.Helper()
	h := &lfsHost{file: []byte("the real bytes")}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *lfsHost) pointer() references.Pointer {
	sum := sha256.Sum256(h.file)
	return references.Pointer{OID: hex.EncodeToString(sum[:]), Size: int64(len(h.file))}
}

func (h *lfsHost) log() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

// ServeHTTP answers a batch below any path, and the object.
func (h *lfsHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, ok := r.BasicAuth()
	line := r.Method + " " + r.URL.Path
	if ok {
		line += " as " + user + ":" + password
	}
	h.mu.Lock()
	h.asked = append(h.asked, line)
	h.mu.Unlock()
	switch {
	case h.status != 0:
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(h.status)
	case user != h.user || password != h.password:
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodGet:
		_, _ = w.Write(h.file)
	case h.moved != "" && !strings.HasPrefix(r.URL.Path, "/new/"):
		http.Redirect(w, r, h.moved, http.StatusMovedPermanently)
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"objects": []any{map[string]any{"oid": h.pointer().OID, "size": len(h.file),
			"actions": map[string]any{"download": map[string]any{"href": h.URL + "/object"}}}}})
	}
}

// received is a repository that keeps the last LFS file.
type received struct {
	*repository
	file []byte
}

// StoreLFS implements git.Repository.
func (r *received) StoreLFS(p references.Pointer, body io.Reader) (bool, error) {
	var err error
	r.file, err = io.ReadAll(body)
	return int64(len(r.file)) == p.Size, err
}

// TestLFSServerOfTheConfiguration has the server that .lfsconfig names: it is asked there, and a
// server that is not the repository's never gets the repository's secret.
func TestLFSServerOfTheConfiguration(t *testing.T) {
	t.Parallel()
	private, authorized := sshKey(t, "ed25519", "")
	own := newGit(t, gitserver.Config{SSH: true, AuthorizedKey: authorized})
	for name, tt := range map[string]struct {
		set    func(h *lfsHost) string // returns lfs.url
		access func() git.Access
		asked  []string
		want   string
		code   errcode.Code
		wait   time.Duration
	}{
		"another host": {set: func(h *lfsHost) string { return h.URL + "/team/shop/" },
			asked: []string{"POST /team/shop/objects/batch", "GET /object"}},
		"another host, its own user": {set: func(h *lfsHost) string {
			h.user, h.password = "u", "p"
			return strings.Replace(h.URL, "://", "://u:p@", 1)
		}, asked: []string{"POST /objects/batch as u:p", "GET /object as u:p"}},
		"another host that wants a user": {set: func(h *lfsHost) string { h.user = "u"; return h.URL },
			asked: []string{"POST /objects/batch"}, want: "the credentials of the repository are for its own server only", code: errcode.Unauthorized},
		"a repository by SSH": {set: func(h *lfsHost) string { return h.URL },
			access: func() git.Access {
				return git.Access{URL: own.SSHURL(repo), PrivateKey: private, KnownHosts: own.KnownHosts()}
			},
			asked: []string{"POST /objects/batch", "GET /object"}},
		"moved within it": {set: func(h *lfsHost) string { h.moved = "/new/objects/batch"; return h.URL },
			asked: []string{"POST /objects/batch", "POST /new/objects/batch", "GET /object"}},
		"moved to another": {set: func(h *lfsHost) string { h.moved = own.URL(repo); return h.URL },
			asked: []string{"POST /objects/batch"}, want: "redirects to http://" + own.Addr(), code: errcode.Invalid},
		"in a circle": {set: func(h *lfsHost) string { h.moved = "/objects/batch"; return h.URL },
			asked: []string{"POST /objects/batch", "POST /objects/batch", "POST /objects/batch"}, want: "redirects in a circle", code: errcode.Unavailable},
		"busy": {set: func(h *lfsHost) string { h.status = http.StatusTooManyRequests; return h.URL },
			asked: []string{"POST /objects/batch"}, want: "with 429", code: errcode.Unavailable, wait: 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newLFSHost(t)
			configured := tt.set(h)
			a := git.Access{URL: own.URL(repo), Username: "me", Password: "the secret"}
			if tt.access != nil {
				a = tt.access()
			}
			to := &received{repository: newRepository(t)}
			err := server(t, newUpstream(t, git.Config{}), a).FetchLFS(t.Context(), to, configured, []references.Pointer{h.pointer()})
			switch {
			case tt.want == "" && (err != nil || !bytes.Equal(to.file, h.file)):
				t.Errorf("%q, %v", to.file, err)
			case tt.want != "" && (!errcode.Is(err, tt.code) || !strings.Contains(err.Error(), tt.want) || errcode.RetryAfter(err) != tt.wait):
				t.Errorf("%v (%s, %s), want %q", err, errcode.Of(err), errcode.RetryAfter(err), tt.want)
			}
			if got := h.log(); !slices.Equal(got, tt.asked) {
				t.Errorf("asked %q, want %q", got, tt.asked)
			}
			if err != nil && (strings.Contains(err.Error(), "the secret") || strings.Contains(err.Error(), "u:p")) {
				t.Errorf("the error has a secret: %v", err)
			}
		})
	}
}

// TestLFSServerOfTheSameHost has an LFS server at another path of the repository's server: it
// gets the repository's credentials.
func TestLFSServerOfTheSameHost(t *testing.T) {
	t.Parallel()
	s := newGit(t, gitserver.Config{Username: "me", Password: "the secret"})
	if err := s.Create(t.Context(), "team/assets"); err != nil {
		t.Fatal(err)
	}
	file := []byte("the real bytes")
	if _, err := s.PutLFS("team/assets", file); err != nil {
		t.Fatal(err)
	}
	want := (&lfsHost{file: file}).pointer()
	srv, to := server(t, newUpstream(t, git.Config{}), git.Access{URL: s.URL(repo), Username: "me", Password: "the secret"}), &received{repository: newRepository(t)}
	if err := srv.FetchLFS(t.Context(), to, s.URL("team/assets")+"/info/lfs", []references.Pointer{want}); err != nil || !bytes.Equal(to.file, file) {
		t.Errorf("%q, %v", to.file, err)
	}
}

// settingOfLFS is a row of lfsconfig.yaml.
type settingOfLFS struct {
	Setting string   `json:"setting"`
	Effect  string   `json:"effect"`
	Reason  string   `json:"reason"`
	Why     string   `json:"why"`
	Config  string   `json:"config"`
	URL     string   `json:"url"`
	Fetched []string `json:"fetched"`
	Left    []string `json:"left"`
}

// TestSettingsOfLFS plays every row of the table of .lfsconfig.
func TestSettingsOfLFS(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../test/field/sources/lfsconfig.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Rows []settingOfLFS `json:"rows"`
	}
	if err := yaml.UnmarshalStrict(text, &table); err != nil {
		t.Fatal(err)
	}
	g, err := git.New(git.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	srv := server(t, g, git.Access{URL: "https://git.example.com/team/shop.git"})
	var names strings.Builder
	for _, row := range table.Rows {
		names.WriteString(row.Setting + "\n")
		t.Run(row.Setting, func(t *testing.T) {
			c, err := references.ParseLFSConfig([]byte(row.Config))
			if err != nil {
				t.Fatal(err)
			}
			if row.Effect == "refused" {
				err := srv.FetchLFS(t.Context(), newRepository(t), c.URL, nil)
				if !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), row.Reason) || !strings.Contains(err.Error(), ".lfsconfig of https://git.example.com/team/shop.git") {
					t.Errorf("%v, want %q", err, row.Reason)
				}
				return
			}
			if c.URL != row.URL {
				t.Errorf("the server is %q, want %q", c.URL, row.URL)
			}
			if row.Effect == "ignored" && row.Why == "" {
				t.Error("the row does not say why")
			}
			for file, want := range chosen(row) {
				if got, _, err := c.Fetches(file, 1000); err != nil || got != want {
					t.Errorf("%s is fetched: %v, %v; want %v", file, got, err, want)
				}
			}
		})
	}
	// The settings that git-lfs 3.7 takes from the file.
	for _, name := range []string{"lfs.allowincompletepush", "lfs.fetchexclude", "lfs.fetchinclude", "lfs.gitprotocol", "lfs.locksverify",
		"lfs.pushurl", "lfs.skipdownloaderrors", "lfs.url", "lfs.URL.access", "remote.origin.lfsurl", "lfs.extension.NAME.priority"} {
		if !strings.Contains(names.String(), name) {
			t.Errorf("no row is about %s", name)
		}
	}
}

// chosen are the files of a row; whatever is not about them leaves every file.
func chosen(row settingOfLFS) map[string]bool {
	out := map[string]bool{}
	if len(row.Left) == 0 {
		out["any/file.bin"] = true
	}
	for _, file := range row.Fetched {
		out[file] = true
	}
	for _, file := range row.Left {
		out[file] = false
	}
	return out
}
