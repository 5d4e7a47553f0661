// Package vaultserver imitates the part of OpenBao that the hub needs, for tests.
// README.md lists what it does not cover.
package vaultserver

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Server is a running vault.
type Server struct {
	http *httptest.Server

	mu      sync.Mutex
	values  map[string]json.RawMessage
	tokens  map[string]time.Time // with their ends
	logins  int
	failing int
	writes  int
}

// The credentials that are good.
const (
	JWT      = "service-account-token"
	Role     = "axle"
	RoleID   = "role-id"
	SecretID = "secret-id"
)

// Start starts a vault with a KV mount named secret.
func Start() *Server {
	s := &Server{values: map[string]json.RawMessage{}, tokens: map[string]time.Time{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Close ends it.
func (s *Server) Close() { s.http.CloseClientConnections(); s.http.Close() }

// URL is its address.
func (s *Server) URL() string { return s.http.URL }

// Token makes one that is good for an hour.
func (s *Server) Token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token()
}

func (s *Server) token() string {
	t := "s." + rand.Text()
	s.tokens[t] = time.Now().Add(time.Hour)
	return t
}

// Revoke ends every token.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Logins counts those that succeeded.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// Fail makes every answer have a status, 0 for none.
func (s *Server) Fail(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = status
}

// Put stores values as a person would.
func (s *Server) Put(path string, values map[string]string) error {
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[path] = text
	return nil
}

// Paths counts the paths below a prefix.
func (s *Server) Paths(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for path := range s.values {
		if strings.HasPrefix(path, prefix) {
			n++
		}
	}
	return n
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(status int) {
		w.WriteHeader(status)
		fmt.Fprint(w, `{"errors":["no"]}`)
	}
	if s.failing != 0 {
		refuse(s.failing)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/v1/auth/") && strings.HasSuffix(r.URL.Path, "/login") {
		s.login(w, r, refuse)
		return
	}
	end, known := s.tokens[r.Header.Get("X-Vault-Token")]
	if !known || time.Now().After(end) {
		refuse(http.StatusForbidden)
		return
	}
	switch path := strings.TrimPrefix(r.URL.Path, "/v1/"); {
	case path == "auth/token/lookup-self":
		fmt.Fprint(w, `{"data":{"ttl":3600}}`)
	case strings.HasPrefix(path, "secret/data/"):
		s.data(w, r, strings.TrimPrefix(path, "secret/data/"), refuse)
	case strings.HasPrefix(path, "secret/metadata/") && r.Method == http.MethodDelete:
		delete(s.values, strings.TrimPrefix(path, "secret/metadata/"))
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(http.StatusNotFound)
	}
}

func (s *Server) login(w http.ResponseWriter, r *http.Request, refuse func(int)) {
	var ask map[string]string
	if json.NewDecoder(r.Body).Decode(&ask) != nil {
		refuse(http.StatusBadRequest)
		return
	}
	method := strings.Split(r.URL.Path, "/")[3]
	good := method == "kubernetes" && ask["role"] == Role && ask["jwt"] == JWT ||
		method == "approle" && ask["role_id"] == RoleID && ask["secret_id"] == SecretID
	if !good {
		refuse(http.StatusBadRequest)
		return
	}
	s.logins++
	_ = json.NewEncoder(w).Encode(map[string]any{"auth": map[string]any{"client_token": s.token(), "lease_duration": 3600, "renewable": true}})
}

func (s *Server) data(w http.ResponseWriter, r *http.Request, path string, refuse func(int)) {
	switch r.Method {
	case http.MethodGet:
		text, ok := s.values[path]
		if !ok {
			refuse(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"data": text, "metadata": map[string]any{"version": 1}}})
	case http.MethodPost, http.MethodPut:
		var ask struct {
			Data json.RawMessage `json:"data"`
		}
		if json.NewDecoder(r.Body).Decode(&ask) != nil || len(ask.Data) == 0 || len(ask.Data) > 1<<20 {
			refuse(http.StatusBadRequest)
			return
		}
		s.values[path] = ask.Data
		s.writes++
		_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"version": 1}})
	default:
		refuse(http.StatusMethodNotAllowed)
	}
}
