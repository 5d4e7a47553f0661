// Package githttp serves one Git repository over HTTP, by git's own http-backend: that of
// axle up without a repository elsewhere.
//
// It makes the repository if it is missing, and asks for one password, which it reads from
// a file at each request, so that a new one counts at once. It knows no other users: it is
// for the inside of a cluster. TLS is the caller's.
//
// Invariants: nothing but the smart protocol of the one repository is served. A request
// without the password starts no program, and at most maxPrograms run at a time. A push that
// rewrites or deletes a branch is refused, because the branch is what a fleet follows.
package githttp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxPush bounds a push, maxPrograms how many requests are served at a time.
const (
	maxPush     = 512 << 20
	maxPrograms = 16
)

// Config says what is served.
type Config struct {
	// Dir is an existing folder; the repository is Dir/Name.git.
	Dir, Name string
	// Branch is the one that a clone checks out.
	Branch string
	// PasswordFile has the password, and must not be empty.
	PasswordFile string
}

// server serves one repository.
type server struct {
	Config
	git   cgi.Handler
	turns chan struct{}
}

// endpoints are those of the smart protocol.
var endpoints = []string{"/info/refs", "/git-upload-pack", "/git-receive-pack"}

// New returns the handler of a repository, which it makes if it is missing.
func New(ctx context.Context, c Config) (http.Handler, error) {
	out, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("ask git where its programs are: %w", err)
	}
	dir := filepath.Join(c.Dir, c.Name+".git")
	commands := [][]string{{"init", "--quiet", "--bare", "--initial-branch", c.Branch, dir}}
	for _, setting := range [][2]string{
		{"receive.denyNonFastForwards", "true"}, {"receive.denyDeletes", "true"}, {"receive.maxInputSize", strconv.Itoa(maxPush)},
		// A large file is streamed to the volume and back, and never held in memory.
		{"receive.unpackLimit", "1"}, {"core.bigFileThreshold", "8m"}, {"pack.windowMemory", "32m"}, {"pack.threads", "1"},
	} {
		commands = append(commands, []string{"-C", dir, "config", setting[0], setting[1]})
	}
	for _, args := range commands {
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("make the repository %s: git %q: %w: %s", dir, args, err, out)
		}
	}
	return &server{c, cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Dir: dir,
		Env: []string{"GIT_PROJECT_ROOT=" + c.Dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + c.Dir, "REMOTE_USER=git"},
	}, make(chan struct{}, maxPrograms)}, nil
}

// ServeHTTP answers git, and /healthz for the kubelet.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	endpoint, ours := strings.CutPrefix(r.URL.Path, "/"+s.Name+".git")
	switch {
	case r.URL.Path == "/healthz":
		w.WriteHeader(http.StatusOK)
	case !s.knows(r):
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "give the password of this repository", http.StatusUnauthorized)
	case !ours || !slices.Contains(endpoints, endpoint):
		http.NotFound(w, r)
	default:
		select {
		case s.turns <- struct{}{}:
			defer func() { <-s.turns }()
			s.serve(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at a time; try it again", http.StatusServiceUnavailable)
		}
	}
}

// serve passes a request to git. A body without a length, which is how git sends a large
// push, goes on until its end: net/http/cgi refuses it while it is marked as chunked.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	r = r.Clone(r.Context())
	r.Header.Del("Authorization")
	r.TransferEncoding = nil
	r.Body = http.MaxBytesReader(w, r.Body, maxPush+1<<20)
	s.git.ServeHTTP(w, r)
}

// knows compares the password, in the same time whether it is right or not.
func (s *server) knows(r *http.Request) bool {
	text, err := os.ReadFile(s.PasswordFile)
	want := strings.TrimSpace(string(text))
	_, have, ok := r.BasicAuth()
	a, b := sha256.Sum256([]byte(have)), sha256.Sum256([]byte(want))
	return err == nil && ok && want != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
