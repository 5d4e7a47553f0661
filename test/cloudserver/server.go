// Package cloudserver imitates the cloud services that repositories need, for tests:
// a bucket, and the services that issue tokens. README.md lists what it does not
// cover.
package cloudserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Server is a running cloud.
type Server struct {
	http *httptest.Server

	mu       sync.Mutex
	objects  map[string][]byte
	keys     map[string]aws.Credentials // that may sign
	bearer   map[string]bool            // that may be sent
	private  bool
	page     int
	password string // of ECR
	requests []Request

	// secrets of the three managers, by name; deleted are those that Azure
	// could bring back; failing is the status of every answer about them.
	secrets, deleted map[string]string
	failing          int
}

// Request is one request that was answered.
type Request struct {
	Method, Path string
	Form         url.Values
	Status       int
}

// Start starts a cloud whose bucket anyone may read.
func Start() *Server {
	s := &Server{objects: map[string][]byte{}, keys: map[string]aws.Credentials{}, bearer: map[string]bool{}, page: 2, password: rand.Text()}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Close ends it.
func (s *Server) Close() { s.http.CloseClientConnections(); s.http.Close() }

// URL is the server's.
func (s *Server) URL() string { return s.http.URL }

// Host is its name and port.
func (s *Server) Host() string { return s.http.Listener.Addr().String() }

// BucketURL is that of the one bucket.
func (s *Server) BucketURL() string { return s.http.URL + "/bucket" }

// Put stores an object.
func (s *Server) Put(key, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = []byte(text)
}

// Delete forgets an object.
func (s *Server) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// Require asks for a signature or a token that this cloud gave. A key that is
// given is known.
func (s *Server) Require(id, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.private = true
	if id != "" {
		s.keys[id] = aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}
	}
}

// RegistryPassword is what ECR gives to who may ask.
func (s *Server) RegistryPassword() string { return s.password }

// Requests returns the requests whose path has the prefix.
func (s *Server) Requests(method, begin string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Request
	for _, r := range s.requests {
		if r.Method == method && strings.HasPrefix(r.Path, begin) {
			out = append(out, r)
		}
	}
	return out
}

type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader passes the status on.
func (r *recorder) WriteHeader(status int) { r.status = status; r.ResponseWriter.WriteHeader(status) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{w, http.StatusOK}
	body := &strings.Builder{}
	if r.Body != nil {
		_, _ = io.Copy(body, io.LimitReader(r.Body, 1<<20))
	}
	form, _ := url.ParseQuery(body.String())
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case strings.HasPrefix(r.URL.Path, "/bucket"):
		s.bucket(rec, r)
	case strings.HasPrefix(r.Header.Get("X-Amz-Target"), "secretsmanager."):
		s.secretsManager(rec, r, body.String())
	case strings.HasPrefix(r.URL.Path, "/v1/projects/"):
		s.secretManager(rec, r, body.String())
	case strings.HasPrefix(r.URL.Path, "/secrets/"), strings.HasPrefix(r.URL.Path, "/deletedsecrets/"):
		s.keyVault(rec, r, body.String())
	case r.Header.Get("X-Amz-Target") != "":
		s.ecr(rec, r, body.String())
	case form.Get("Action") != "":
		s.sts(rec, r, form, body.String())
	case r.URL.Path == "/pod":
		s.pod(rec, r)
	case strings.HasPrefix(r.URL.Path, "/latest/"):
		s.machine(rec, r)
	case strings.HasPrefix(r.URL.Path, "/computeMetadata/"):
		s.metadata(rec, r)
	case r.URL.Path == "/google/token":
		s.google(rec, form)
	case strings.HasSuffix(r.URL.Path, "/oauth2/v2.0/token"):
		s.azure(rec, form)
	default:
		http.NotFound(rec, r)
	}
	s.requests = append(s.requests, Request{r.Method, r.URL.Path, form, rec.status})
}

// signed checks a version 4 signature by making it again.
func (s *Server) signed(r *http.Request, service, body string) bool {
	header := r.Header.Get("Authorization")
	_, rest, _ := strings.Cut(header, "Credential=")
	scope, _, _ := strings.Cut(rest, ",")
	parts := strings.Split(scope, "/")
	keys, ok := s.keys[parts[0]]
	if !ok || len(parts) != 5 || parts[3] != service || r.Header.Get("X-Amz-Security-Token") != keys.SessionToken {
		return false
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return false
	}
	again, err := http.NewRequest(r.Method, "http://"+r.Host+r.URL.RequestURI(), strings.NewReader(body))
	if err != nil {
		return false
	}
	_, names, _ := strings.Cut(header, "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	for name := range strings.SplitSeq(names, ";") {
		if v := r.Header.Get(name); v != "" && !strings.HasPrefix(name, "x-amz-date") && name != "content-length" && name != "x-amz-security-token" {
			again.Header.Set(name, v)
		}
	}
	sum := sha256.Sum256([]byte(body))
	err = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == "s3" }).
		SignHTTP(context.Background(), keys, again, hex.EncodeToString(sum[:]), service, parts[2], at)
	return err == nil && again.Header.Get("Authorization") == header
}

func (s *Server) admitted(r *http.Request) bool {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return !s.private || s.bearer[token] || s.signed(r, "s3", "")
}

type listed struct {
	Key, ETag string
	Size      int
}

func (s *Server) bucket(w http.ResponseWriter, r *http.Request) {
	if !s.admitted(r) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/bucket"), "/")
	q := r.URL.Query()
	switch {
	case key == "" && q.Get("comp") == "list":
		s.listBlobs(w, q)
	case key == "" && q.Get("list-type") == "2":
		s.listObjects(w, q)
	default:
		data, ok := s.objects[key]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if m := r.Header.Get("If-Match"); m != "" && m != etag(data) {
			w.WriteHeader(http.StatusPreconditionFailed)
			return
		}
		_, _ = w.Write(data)
	}
}

func etag(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// slice is one page of the keys under a prefix.
func (s *Server) slice(prefix, after string) (page []listed, next string) {
	var keys []string
	for k := range s.objects {
		if strings.HasPrefix(k, prefix) && k > after {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if len(page) == s.page {
			return page, page[len(page)-1].Key
		}
		page = append(page, listed{k, etag(s.objects[k]), len(s.objects[k])})
	}
	return page, ""
}

func (s *Server) listObjects(w http.ResponseWriter, q url.Values) {
	page, next := s.slice(q.Get("prefix"), q.Get("continuation-token"))
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []listed
	}{IsTruncated: next != "", NextContinuationToken: next, Contents: page})
}

func (s *Server) listBlobs(w http.ResponseWriter, q url.Values) {
	page, next := s.slice(q.Get("prefix"), q.Get("marker"))
	fmt.Fprint(w, `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>`)
	for _, o := range page {
		fmt.Fprintf(w, "<Blob><Name>%s</Name><Properties><Etag>%s</Etag><Content-Length>%d</Content-Length></Properties></Blob>", o.Key, strings.Trim(o.ETag, `"`), o.Size)
	}
	fmt.Fprintf(w, "</Blobs><NextMarker>%s</NextMarker></EnumerationResults>", next)
}

// grant makes new keys.
func (s *Server) grant() aws.Credentials {
	keys := aws.Credentials{AccessKeyID: "ASIA" + rand.Text(), SecretAccessKey: rand.Text(), SessionToken: rand.Text()}
	s.keys[keys.AccessKeyID] = keys
	return keys
}

func (s *Server) sts(w http.ResponseWriter, r *http.Request, form url.Values, body string) {
	action := form.Get("Action")
	good := action == "AssumeRoleWithWebIdentity" && form.Get("WebIdentityToken") == "identity" || action == "AssumeRole" && s.signed(r, "sts", body)
	if !good {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
		return
	}
	k := s.grant()
	fmt.Fprintf(w, "<%sResponse><%sResult><Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration></Credentials></%sResult></%sResponse>",
		action, action, k.AccessKeyID, k.SecretAccessKey, k.SessionToken, time.Now().Add(time.Hour).UTC().Format(time.RFC3339), action, action)
}

func (s *Server) pod(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "identity" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	k := s.grant()
	_ = json.NewEncoder(w).Encode(map[string]any{"AccessKeyId": k.AccessKeyID, "SecretAccessKey": k.SecretAccessKey, "Token": k.SessionToken, "Expiration": time.Now().Add(time.Hour)})
}

// machine is the metadata service of a machine, in its second version: whoever asks
// for the keys of its role shows a token.
func (s *Server) machine(w http.ResponseWriter, r *http.Request) {
	const roles = "/latest/meta-data/iam/security-credentials/"
	switch {
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds"))
		fmt.Fprint(w, s.password)
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") != s.password:
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == roles:
		fmt.Fprint(w, "axle")
	case r.URL.Path == roles+"axle":
		k := s.grant()
		_ = json.NewEncoder(w).Encode(map[string]any{"Code": "Success", "AccessKeyId": k.AccessKeyID, "SecretAccessKey": k.SecretAccessKey, "Token": k.SessionToken, "Expiration": time.Now().Add(time.Hour)})
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) ecr(w http.ResponseWriter, r *http.Request, body string) {
	if !s.signed(r, "ecr", body) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"UnrecognizedClientException"}`)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"authorizationData": []any{map[string]any{
		"authorizationToken": base64.StdEncoding.EncodeToString([]byte("AWS:" + s.password)), "expiresAt": time.Now().Add(12 * time.Hour).Unix()}}})
}

// token gives a bearer token.
func (s *Server) token(w http.ResponseWriter, good bool) {
	if !good {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"invalid_client"}`)
		return
	}
	t := rand.Text()
	s.bearer[t] = true
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": t, "expires_in": 3600, "token_type": "Bearer"})
}

func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	s.token(w, r.Header.Get("Metadata-Flavor") == "Google")
}

func (s *Server) google(w http.ResponseWriter, form url.Values) {
	parts := strings.Split(form.Get("assertion"), ".")
	claims := map[string]any{}
	if len(parts) == 3 {
		raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(raw, &claims)
	}
	s.token(w, form.Get("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer" && claims["iss"] == "robot@example.com" && strconv.Itoa(len(parts)) == "3")
}

func (s *Server) azure(w http.ResponseWriter, form url.Values) {
	s.token(w, form.Get("client_id") == "app" && (form.Get("client_secret") == "client-secret" || form.Get("client_assertion") == "identity"))
}
