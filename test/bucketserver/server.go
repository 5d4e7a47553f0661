// Package bucketserver is an S3-compatible store for tests of backups. README.md lists
// what it does not cover.
package bucketserver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Bucket is the one bucket, and Region the one region.
const (
	Bucket = "backups"
	Region = "eu-central-1"
)

var keys = aws.Credentials{AccessKeyID: "AKIATEST", SecretAccessKey: "secret-of-the-bucket"}

// Server is a running store.
type Server struct {
	// URL is its endpoint.
	URL string

	store http.Handler
	mu    sync.Mutex
	fault Fault
	calls []string
}

// Fault decides about a request before the store sees it: a status other than 0 is the
// whole answer. It may block until the request's context ends.
type Fault func(r *http.Request) (status int)

// Start starts a store with an empty bucket, until the end of the test.
func Start(t testing.TB) *Server {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket(Bucket); err != nil {
		t.Fatal(err)
	}
	s := &Server{store: gofakes3.New(backend).Server()}
	running := httptest.NewServer(s)
	t.Cleanup(func() { running.CloseClientConnections(); running.Close() })
	s.URL = running.URL
	return s
}

// CredentialsFile writes the keys as the product reads them, or others.
func CredentialsFile(t testing.TB, secret string) string {
	t.Helper()
	if secret == "" {
		secret = keys.SecretAccessKey
	}
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[default]\naws_access_key_id = " + keys.AccessKeyID + "\naws_secret_access_key = " + secret + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Secret is what no output may show.
func Secret() string { return keys.SecretAccessKey }

// Break sets the fault, nil for none.
func (s *Server) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Calls returns the requests so far, as "PUT /backups/key?query".
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Only a body that was read lets the server see that the client is gone.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.calls = append(s.calls, r.Method+" "+r.URL.RequestURI())
	fault := s.fault
	s.mu.Unlock()
	if fault != nil {
		if status := fault(r); status != 0 {
			w.WriteHeader(status)
			return
		}
	}
	if !signed(r) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`<Error><Code>SignatureDoesNotMatch</Code><Message>The signature is not that of the key.</Message></Error>`))
		return
	}
	s.store.ServeHTTP(w, r)
}

// signed checks a version 4 signature by making it again.
func signed(r *http.Request) bool {
	header := r.Header.Get("Authorization")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || !strings.Contains(header, "Credential="+keys.AccessKeyID+"/") {
		return false
	}
	again, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+r.Host+r.URL.RequestURI(), http.NoBody)
	if err != nil {
		return false
	}
	again.ContentLength = r.ContentLength
	_, names, _ := strings.Cut(header, "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	for name := range strings.SplitSeq(names, ";") {
		if v := r.Header.Values(name); len(v) > 0 && name != "x-amz-date" && name != "content-length" {
			again.Header[http.CanonicalHeaderKey(name)] = v
		}
	}
	err = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).
		SignHTTP(context.Background(), keys, again, r.Header.Get("X-Amz-Content-Sha256"), "s3", Region, at)
	return err == nil && again.Header.Get("Authorization") == header
}
