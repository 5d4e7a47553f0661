// Package registryserver is an OCI registry for tests, with token authentication,
// redirected blobs, counted requests and faults. README.md lists what it does not
// cover.
package registryserver

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Media types of the artifacts that tests push.
const (
	ChartConfig     = "application/vnd.cncf.helm.config.v1+json"
	ChartLayer      = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	ProvenanceLayer = "application/vnd.cncf.helm.chart.provenance.v1.prov"
	FluxConfig      = "application/vnd.cncf.flux.config.v1+json"
	FluxLayer       = "application/vnd.cncf.flux.content.v1.tar+gzip"
	manifestType    = "application/vnd.oci.image.manifest.v1+json"
	indexType       = "application/vnd.oci.image.index.v1+json"
)

// Server is a running registry.
type Server struct {
	http    *httptest.Server
	blobs   *httptest.Server // where blobs are redirected to
	handler http.Handler

	mu       sync.Mutex
	login    string            // user:password for the token service
	basic    bool              // ask for that on each request instead
	refresh  map[string]string // refresh tokens, to the repository path or ""
	tokens   map[string]bool
	redirect bool
	fault    func(w http.ResponseWriter, r *http.Request) bool
	requests []Request
}

// Request is one request that was answered.
type Request struct {
	Method, Path  string
	Authorization string
	// Elsewhere is set for requests to the redirected host.
	Elsewhere bool
}

// Start starts a registry; tls serves https.
func Start(tls bool) *Server {
	s := &Server{tokens: map[string]bool{}, refresh: map[string]string{},
		handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.blobs = httptest.NewUnstartedServer(http.HandlerFunc(s.elsewhere))
	for _, h := range []*httptest.Server{s.http, s.blobs} {
		if tls {
			h.StartTLS()
		} else {
			h.Start()
		}
	}
	return s
}

// Close ends it.
func (s *Server) Close() {
	for _, h := range []*httptest.Server{s.http, s.blobs} {
		h.CloseClientConnections()
		h.Close()
	}
}

// Host is its name and port.
func (s *Server) Host() string { return s.http.Listener.Addr().String() }

// URL is that of a repository.
func (s *Server) URL(path string) string { return "oci://" + s.Host() + "/" + path }

// HTTP is the server beneath, for its certificate.
func (s *Server) HTTP() *httptest.Server { return s.http }

// Require asks for a user and a password: by a token service, or with basic on
// each request.
func (s *Server) Require(user, password string, basic bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login, s.basic = user+":"+password, basic
}

// Refresh lets a refresh token be exchanged for access.
func (s *Server) Refresh(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh[token] = ""
}

// Redirect sends readers of blobs to another host.
func (s *Server) Redirect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redirect = true
}

// Fault is asked before each request and answers those it returns true for;
// nil ends it.
func (s *Server) Fault(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Requests returns the requests with a method and a path suffix.
func (s *Server) Requests(method, end string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Request
	for _, r := range s.requests {
		if r.Method == method && strings.HasSuffix(r.Path, end) {
			out = append(out, r)
		}
	}
	return out
}

func (s *Server) note(r *http.Request, elsewhere bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{r.Method, r.URL.Path, r.Header.Get("Authorization"), elsewhere})
}

func (s *Server) elsewhere(w http.ResponseWriter, r *http.Request) {
	s.note(r, true)
	s.handler.ServeHTTP(w, r)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.note(r, false)
	s.mu.Lock()
	fault, redirect := s.fault, s.redirect
	s.mu.Unlock()
	switch {
	case fault != nil && fault(w, r):
	case r.URL.Path == "/token":
		s.token(w, r)
	case !s.admitted(r):
		s.challenge(w, r)
	case redirect && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/"):
		http.Redirect(w, r, s.blobs.URL+r.URL.Path, http.StatusTemporaryRedirect)
	default:
		s.handler.ServeHTTP(w, r)
	}
}

func (s *Server) admitted(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.login == "" {
		return true
	}
	kind, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if s.basic {
		return kind == "Basic" && value == base64.StdEncoding.EncodeToString([]byte(s.login))
	}
	return kind == "Bearer" && s.tokens[value]
}

func (s *Server) challenge(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.basic {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
	} else {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="test",scope="repository:any:pull"`, s.http.URL))
	}
	w.WriteHeader(http.StatusUnauthorized)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.refresh[r.FormValue("refresh_token")]
	if user+":"+password != s.login && !known {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	t := rand.Text()
	s.tokens[t] = true
	_ = json.NewEncoder(w).Encode(map[string]any{"token": t, "access_token": t, "expires_in": 300})
}

// Expire forgets all access tokens.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Layer is one layer of an artifact.
type Layer struct {
	Type        string
	Data        []byte
	Annotations map[string]string
	// Size is what the manifest has as the length of the data; 0 is the length itself.
	Size int
}

// Artifact is the artifact to push.
type Artifact struct {
	// ConfigType is the artifact's declared type.
	ConfigType, ArtifactType string
	Layers                   []Layer
	Annotations              map[string]string
	// Subject is the digest of the manifest that this one refers to.
	Subject string
}

type descriptor struct {
	Type        string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Push stores an artifact under a tag, or under its digest alone when the tag
// is empty, and returns the digest of its manifest.
func (s *Server) Push(path, tag string, a Artifact) (string, error) {
	config, err := s.blob(path, a.ConfigType, []byte("{}"), nil)
	if err != nil {
		return "", err
	}
	m := map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": config, "annotations": a.Annotations}
	if a.ArtifactType != "" {
		m["artifactType"] = a.ArtifactType
	}
	if a.Subject != "" {
		m["subject"] = descriptor{Type: manifestType, Digest: a.Subject, Size: s.size(path, a.Subject)}
	}
	layers := []descriptor{}
	for _, l := range a.Layers {
		d, err := s.blob(path, l.Type, l.Data, l.Annotations)
		if err != nil {
			return "", err
		}
		d.Size = cmp.Or(l.Size, d.Size)
		layers = append(layers, d)
	}
	m["layers"] = layers
	raw, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	digest := sum(raw)
	for _, ref := range []string{digest, tag} {
		if ref == "" {
			continue
		}
		if err := s.put(http.MethodPut, "/v2/"+path+"/manifests/"+ref, manifestType, raw); err != nil {
			return "", err
		}
	}
	return digest, nil
}

// Listed is a manifest as an index has it.
type Listed struct {
	Digest      string
	Annotations map[string]string
}

// PushIndex stores an index of manifests that were pushed, and returns its digest.
func (s *Server) PushIndex(path, tag string, all ...Listed) (string, error) {
	var manifests []descriptor
	for _, l := range all {
		manifests = append(manifests, descriptor{manifestType, l.Digest, s.size(path, l.Digest), l.Annotations})
	}
	raw, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": manifests})
	if err != nil {
		return "", err
	}
	return sum(raw), s.put(http.MethodPut, "/v2/"+path+"/manifests/"+tag, indexType, raw)
}

// Delete forgets a manifest by tag or digest.
func (s *Server) Delete(path, ref string) error {
	return s.put(http.MethodDelete, "/v2/"+path+"/manifests/"+ref, "", nil)
}

func (s *Server) size(path, digest string) int {
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v2/"+path+"/manifests/"+digest, nil))
	return w.Body.Len()
}

func (s *Server) blob(path, kind string, data []byte, notes map[string]string) (descriptor, error) {
	digest := sum(data)
	err := s.put(http.MethodPost, "/v2/"+path+"/blobs/uploads/?digest="+digest, "application/octet-stream", data)
	return descriptor{kind, digest, len(data), notes}, err
}

func (s *Server) put(method, path, kind string, data []byte) error {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, bytes.NewReader(data))
	r.Header.Set("Content-Type", kind)
	s.handler.ServeHTTP(w, r)
	if w.Code/100 != 2 {
		return fmt.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return nil
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(h[:])
}
