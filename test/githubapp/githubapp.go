// Package githubapp is the part of GitHub's REST API that issues tokens to a GitHub
// App, for tests: it checks the App's signed claims as GitHub does and issues
// installation tokens that expire. README.md lists what it does not cover.
//
// It serves no Git; a test connects it to a gitserver with Valid.
package githubapp

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config of a server. The zero value has App 1 with installation 10.
type Config struct {
	AppID          int64 // default 1
	InstallationID int64 // default 10
	// Repository is "owner/name" of the one repository of the installation.
	Repository string
	// Lifetime of tokens; default one hour, as GitHub's.
	Lifetime time.Duration
	// Now is the server's clock; default time.Now.
	Now func() time.Time
}

// Server is a running one. Close ends it.
type Server struct {
	config Config
	key    *rsa.PrivateKey
	http   *http.Server
	addr   string
	done   chan struct{}

	mu     sync.Mutex
	tokens map[string]time.Time
	issued int
	status int // answered instead of a token, when set
	bodies []string
}

// Start starts a server on the loopback interface.
func Start(ctx context.Context, c Config) (*Server, error) {
	if c.AppID == 0 {
		c.AppID = 1
	}
	if c.InstallationID == 0 {
		c.InstallationID = 10
	}
	if c.Lifetime == 0 {
		c.Lifetime = time.Hour
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, key: key, addr: l.Addr().String(), done: make(chan struct{}), tokens: map[string]time.Time{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /app/installations/{id}/access_tokens", s.create)
	mux.HandleFunc("GET /repos/{owner}/{name}/installation", s.find)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { defer close(s.done); _ = s.http.Serve(l) }()
	return s, nil
}

// Close ends the server.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// URL is the base of the API.
func (s *Server) URL() string { return "http://" + s.addr }

// PrivateKey is the App's, in the PEM form in which GitHub gives it out.
func (s *Server) PrivateKey() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(s.key)}))
}

// Valid reports whether Git would let a user with a password in: any user,
// with a token that has not run out.
func (s *Server) Valid(_, token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.tokens[token]
	return ok && s.config.Now().Before(until)
}

// Issued returns how many tokens were issued.
func (s *Server) Issued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issued
}

// Requests returns the bodies of the requests for tokens.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// Revoke makes all tokens worthless.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Fail makes every request end with a status; zero ends that.
func (s *Server) Fail(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func say(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, message string) {
	say(w, status, map[string]string{"message": message, "documentation_url": "https://docs.github.com/rest"})
}

func (s *Server) enter(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	status := s.status
	s.mu.Unlock()
	if status != 0 {
		refuse(w, status, http.StatusText(status))
		return false
	}
	if fault := s.check(r); fault != "" {
		refuse(w, http.StatusUnauthorized, fault)
		return false
	}
	return true
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	if !s.enter(w, r) {
		return
	}
	if r.PathValue("id") != strconv.FormatInt(s.config.InstallationID, 10) {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	var body json.RawMessage
	_ = json.NewDecoder(r.Body).Decode(&body)
	token, until := "ghs_"+rand.Text(), s.config.Now().Add(s.config.Lifetime)
	s.mu.Lock()
	s.tokens[token] = until
	s.issued++
	s.bodies = append(s.bodies, string(body))
	s.mu.Unlock()
	say(w, http.StatusCreated, map[string]any{"token": token, "expires_at": until.UTC().Format(time.RFC3339),
		"permissions": map[string]string{"contents": "read", "metadata": "read"}, "repository_selection": "all"})
}

func (s *Server) find(w http.ResponseWriter, r *http.Request) {
	if !s.enter(w, r) {
		return
	}
	if r.PathValue("owner")+"/"+r.PathValue("name") != s.config.Repository {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	say(w, http.StatusOK, map[string]any{"id": s.config.InstallationID, "app_id": s.config.AppID})
}

// check holds the claims of a request to GitHub's rules and returns what
// GitHub says of those that break them.
func (s *Server) check(r *http.Request) string {
	const undecodable = "A JSON web token could not be decoded"
	raw, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(raw, ".")
	if !ok || len(parts) != 3 {
		return undecodable
	}
	var head struct{ Alg, Typ string }
	var claims struct {
		Iat, Exp int64
		Iss      any
	}
	for i, into := range []any{&head, &claims} {
		plain, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(plain, into)
		}
		if err != nil {
			return undecodable
		}
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || head.Alg != "RS256" || rsa.VerifyPKCS1v15(&s.key.PublicKey, crypto.SHA256, sum[:], sig) != nil {
		return undecodable
	}
	now := s.config.Now().Unix()
	switch {
	case claims.Iat > now:
		return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case claims.Exp <= now || claims.Exp > now+600 || claims.Exp-claims.Iat > 660:
		return "'Expiration time' claim ('exp') is too far in the future"
	case fmt.Sprint(claims.Iss) != strconv.FormatInt(s.config.AppID, 10):
		return "Integration not found"
	}
	return ""
}
