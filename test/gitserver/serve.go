package gitserver

import (
	"bytes"
	"compress/gzip"
	"crypto/subtle"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"strings"
)

// serve answers one HTTP request: credentials, faults, then git's own backend.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	repo, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	if !ok {
		http.NotFound(w, r)
		return
	}
	raw, kind, body, err := classify(r, rest)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !s.allowed(r) {
		e := s.begin(repo, Refused, nil)
		w.Header().Set("WWW-Authenticate", `Basic realm="gitserver"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		s.end(e, 0, http.StatusUnauthorized)
		return
	}
	f := s.fault(repo, kind)
	out := &sender{ResponseWriter: w, fault: f}
	if kind != Fetch {
		out.fault.CutAt, out.fault.BytesPS = 0, 0
	}
	e := s.begin(repo, kind, body)
	s.from(e, r.RemoteAddr)
	defer func() { s.end(e, out.n, out.status) }()
	defer s.spend(repo, kind)
	if s.act(out, r, repo, kind, f, body) {
		return
	}
	if kind == LFS {
		s.serveLFS(out, r, repo, rest, body)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	r.ContentLength = int64(len(raw))
	s.backendHandler().ServeHTTP(out, r)
	if out.fault.CutAt > 0 && out.n >= out.fault.CutAt {
		cut(w)
	}
}

func (s *Server) backendHandler() *cgi.Handler {
	return &cgi.Handler{
		Path: s.backend, Dir: s.dir, Root: "/", Logger: discard, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + s.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=tester", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + s.dir},
		InheritEnv: []string{"PATH", "LD_LIBRARY_PATH"},
	}
}

// classify reads a request's body, as sent and in plain, and says its kind.
func classify(r *http.Request, rest string) (raw []byte, kind Kind, plain []byte, err error) {
	if raw, err = io.ReadAll(io.LimitReader(r.Body, 1<<30)); err != nil {
		return nil, "", nil, err
	}
	plain = raw
	if r.Header.Get("Content-Encoding") == "gzip" {
		zr, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, "", nil, err
		}
		if plain, err = io.ReadAll(zr); err != nil {
			return nil, "", nil, err
		}
	}
	switch {
	case strings.HasPrefix(rest, "info/lfs/"):
		return raw, LFS, plain, nil
	case strings.HasSuffix(rest, "git-receive-pack") || r.URL.Query().Get("service") == "git-receive-pack":
		return raw, Push, plain, nil
	case strings.HasSuffix(rest, "git-upload-pack"):
		return raw, command(plain), plain, nil
	case r.Header.Get("Git-Protocol") == "" && strings.HasSuffix(rest, "info/refs"):
		return raw, LsRefs, plain, nil // older protocols list refs at once
	}
	return raw, Connect, plain, nil
}

func (s *Server) allowed(r *http.Request) bool {
	s.mu.Lock()
	user, password, check := s.auth[0], s.auth[1], s.check
	s.mu.Unlock()
	u, p, ok := r.BasicAuth()
	if check != nil {
		return ok && check(u, p)
	}
	if password == "" {
		return true
	}
	return ok && (user == "" || u == user) && subtle.ConstantTimeCompare([]byte(p), []byte(password)) == 1
}

func environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C"}
}
