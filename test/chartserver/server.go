// Package chartserver is a chart repository over HTTP for tests. It has an index that
// answers conditional requests, charts, signatures and faults, and counts every
// request. README.md lists what it does not cover.
package chartserver

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Chart is one version of a chart as the index lists it.
type Chart struct {
	Name, Version string
	// Files of the chart, by path below its folder; Chart.yaml is made when it
	// is missing.
	Files map[string]string
	// Archive replaces what Files would make.
	Archive []byte
	// URL replaces the relative one, Digest the true one; "-" leaves it out.
	URL, Digest string
	// Deprecated and Removed are flags of the index.
	Deprecated, Removed bool
	// Provenance is served beside the archive, if set.
	Provenance []byte
}

// Server is a running repository. Change it while it runs through its methods.
type Server struct {
	http *httptest.Server

	mu       sync.Mutex
	charts   []Chart
	index    []byte // instead of the made one
	modified time.Time
	username string
	password string
	bearer   string
	faults   map[string]http.HandlerFunc
	requests []Request
}

// Request is one request that was answered.
type Request struct {
	Path          string
	Status        int
	Authorization string
	At            time.Time
}

// Start starts a server; tls serves https.
func Start(tls bool) *Server {
	s := &Server{modified: time.Now().Add(-time.Hour), faults: map[string]http.HandlerFunc{}}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	if tls {
		s.http.StartTLS()
	} else {
		s.http.Start()
	}
	return s
}

// Close ends it.
func (s *Server) Close() { s.http.CloseClientConnections(); s.http.Close() }

// URL is the repository's.
func (s *Server) URL() string { return s.http.URL + "/charts" }

// HTTP is the server beneath, for its certificate.
func (s *Server) HTTP() *httptest.Server { return s.http }

// Publish adds a version, or replaces it.
func (s *Server) Publish(c Chart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(c.Name, c.Version)
	s.charts = append(s.charts, c)
	s.modified = s.modified.Add(time.Second)
}

// Remove takes a version out of the index and its archive off the server.
func (s *Server) Remove(name, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(name, version)
	s.modified = s.modified.Add(time.Second)
}

func (s *Server) remove(name, version string) {
	s.charts = slices.DeleteFunc(s.charts, func(c Chart) bool { return c.Name == name && c.Version == version })
}

// SetIndex serves these bytes as the index; nil goes back to the made one.
func (s *Server) SetIndex(raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index, s.modified = raw, s.modified.Add(time.Second)
}

// Require asks for a user and password, or for a bearer token.
func (s *Server) Require(username, password, bearer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.username, s.password, s.bearer = username, password, bearer
}

// Fault answers a path by a handler; nil ends it. The path is as Request has
// it, "/index.yaml" or "/app-1.0.0.tgz".
func (s *Server) Fault(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == nil {
		delete(s.faults, path)
		return
	}
	s.faults[path] = h
}

// Requests returns the answered requests for one path, or for all if it is empty.
func (s *Server) Requests(path string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Request
	for _, r := range s.requests {
		if path == "" || r.Path == path {
			out = append(out, r)
		}
	}
	return out
}

// recorder remembers the status.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader passes the status on.
func (r *recorder) WriteHeader(status int) { r.status = status; r.ResponseWriter.WriteHeader(status) }

// Unwrap lets faults cut the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	path := strings.TrimPrefix(r.URL.Path, "/charts")
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, Request{Path: path, Status: rec.status, Authorization: r.Header.Get("Authorization"), At: time.Now()})
	}()
	s.mu.Lock()
	fault := s.faults[path]
	s.mu.Unlock()
	switch {
	case fault != nil:
		fault(rec, r)
	case !s.admitted(r):
		rec.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
		http.Error(rec, "who are you?", http.StatusUnauthorized)
	default:
		s.answer(rec, r, path)
	}
}

func (s *Server) admitted(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, password, _ := r.BasicAuth()
	return s.bearer != "" && r.Header.Get("Authorization") == "Bearer "+s.bearer ||
		s.bearer == "" && (s.password == "" || user == s.username && password == s.password)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if path == "/index.yaml" {
		raw := s.index
		if raw == nil {
			raw = s.makeIndex()
		}
		sum := sha256.Sum256(raw)
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
		http.ServeContent(w, r, "index.yaml", s.modified, bytes.NewReader(raw))
		return
	}
	for _, c := range s.charts {
		file := "/" + c.Name + "-" + c.Version + ".tgz"
		switch {
		case path == file:
			_, _ = w.Write(c.archive())
			return
		case path == file+".prov" && c.Provenance != nil:
			_, _ = w.Write(c.Provenance)
			return
		}
	}
	http.NotFound(w, r)
}

func (s *Server) makeIndex() []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: v1\nentries:\n")
	var names []string
	for _, c := range s.charts {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		fmt.Fprintf(&b, "  %s:\n", name)
		for _, c := range s.charts {
			if c.Name == name {
				c.entry(&b)
			}
		}
	}
	b.WriteString("generated: \"2026-01-01T00:00:00Z\"\n")
	return b.Bytes()
}

func (c Chart) entry(b *bytes.Buffer) {
	fmt.Fprintf(b, "  - apiVersion: v2\n    created: \"2026-01-01T00:00:00Z\"\n")
	if c.Deprecated {
		b.WriteString("    deprecated: true\n")
	}
	digest := c.Digest
	if digest == "" {
		sum := sha256.Sum256(c.archive())
		digest = hex.EncodeToString(sum[:])
	}
	if digest != "-" {
		fmt.Fprintf(b, "    digest: %s\n", digest)
	}
	fmt.Fprintf(b, "    name: %s\n", c.Name)
	if c.Removed {
		b.WriteString("    removed: true\n")
	}
	url := c.URL
	if url == "" {
		url = c.Name + "-" + c.Version + ".tgz"
	}
	fmt.Fprintf(b, "    urls:\n    - %s\n    version: %s\n", url, c.Version)
}

func (c Chart) archive() []byte {
	if c.Archive != nil {
		return c.Archive
	}
	return Archive(c.Name, c.Version, c.Files)
}

// Archive makes a chart's archive, the same bytes each time.
func Archive(name, version string, files map[string]string) []byte {
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n"}
	for path, text := range files {
		all[path] = text
	}
	var paths []string
	for path := range all {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	var headers []tar.Header
	for _, path := range paths {
		headers = append(headers, tar.Header{Name: name + "/" + path, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(all[path]))})
	}
	return Pack(headers, func(h tar.Header) []byte { return []byte(all[strings.TrimPrefix(h.Name, name+"/")]) })
}

// Pack writes headers as they are, however bad, into a gzip of a tar.
func Pack(headers []tar.Header, body func(tar.Header) []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	for _, h := range headers {
		if err := t.WriteHeader(&h); err != nil {
			return []byte(err.Error())
		}
		if body != nil {
			_, _ = t.Write(body(h))
		} else {
			_, _ = t.Write(make([]byte, h.Size))
		}
	}
	_ = t.Close()
	_ = z.Close()
	return b.Bytes()
}
