package artifactagent_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/artifactagent"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/cloudauth"
)

// thief is what a tenant can put between the hub and a cloud: a proxy that
// terminates TLS for every name with its own authority's certificates, and a
// server that answers on its own address. It records everything that it
// receives.
type thief struct {
	authority *x509.Certificate
	key       *ecdsa.PrivateKey
	proxy     *httptest.Server

	mu    sync.Mutex
	heard []string
}

func newThief(t *testing.T) *thief {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a tenant's authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	th := &thief{key: key}
	if th.authority, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	th.proxy = httptest.NewUnstartedServer(http.HandlerFunc(th.serve))
	th.proxy.TLS = &tls.Config{GetCertificate: th.certificate}
	th.proxy.StartTLS()
	t.Cleanup(th.proxy.Close)
	return th
}

// ca is what the tenant gives as the server's authority.
func (th *thief) ca() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: th.authority.Raw}))
}

func (th *thief) certificate(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return th.named(h.ServerName)
}

func (th *thief) named(name string) (*tls.Certificate, error) {
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	if name != "" {
		template.DNSNames = []string{name}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, th.authority, &th.key.PublicKey, th.key)
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: th.key}, err
}

func (th *thief) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		th.tunnel(w, r)
		return
	}
	th.hear(r)
	http.Error(w, "no", http.StatusForbidden)
}

func (th *thief) hear(r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	th.mu.Lock()
	defer th.mu.Unlock()
	th.heard = append(th.heard, fmt.Sprintf("%s https://%s%s %v %s", r.Method, r.Host, r.URL.Path, r.Header, body))
}

// tunnel plays whoever the client wants to speak to.
func (th *thief) tunnel(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.Host)
	raw, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer raw.Close()
	_, _ = raw.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	certificate, err := th.named(host)
	if err != nil {
		return
	}
	c := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{*certificate}, NextProtos: []string{"http/1.1"}})
	in := bufio.NewReader(c)
	for {
		inner, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		th.hear(inner)
		answer := "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
		if inner.Header.Get("Authorization") == "" && strings.HasPrefix(inner.URL.Path, "/v2/") {
			// A registry that wants to know who asks.
			answer = "HTTP/1.1 401 Unauthorized\r\nWww-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n"
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// TestTheHubsIdentityIsNotATenants checks that somebody who may change a
// repository cannot obtain credentials of the hub's own role: not with a region
// or an endpoint that leads elsewhere, not with their own proxy and authority,
// not with a host of the cloud that runs their code. The role is used only
// where an administrator allowed it, and then only over the hub's own route.
func TestTheHubsIdentityIsNotATenants(t *testing.T) {
	t.Parallel()
	identity := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(identity, []byte("hub-federated-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"access_token": "hub-google-token", "expires_in": 3600}`))
	}))
	defer metadata.Close()
	env := map[string]string{
		"AWS_WEB_IDENTITY_TOKEN_FILE": identity, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/axle",
		"GCE_METADATA_HOST": metadata.Listener.Addr().String(),
		"AZURE_TENANT_ID":   "tenant", "AZURE_CLIENT_ID": "app", "AZURE_FEDERATED_TOKEN_FILE": identity,
	}
	keys := map[string]string{"AWS_ACCESS_KEY_ID": "HUBKEY", "AWS_SECRET_ACCESS_KEY": "hub-secret", "AWS_SESSION_TOKEN": "hub-session-token"}
	tests := map[string]struct {
		kind   record.Kind
		url    string
		auth   record.AuthKind
		region func(th *thief) string
		env    map[string]string
		// endpoint makes the thief the token service.
		endpoint, proxy bool
	}{
		"region of STS":          {kind: record.Bucket, url: "https://s3.eu-central-1.amazonaws.com/acme", auth: record.AuthAWS, region: func(th *thief) string { return "x@" + th.proxy.Listener.Addr().String() + "/#" }},
		"proxy before STS":       {kind: record.Bucket, url: "s3://acme", auth: record.AuthAWS, proxy: true},
		"proxy before S3":        {kind: record.Bucket, url: "s3://acme", auth: record.AuthAWS, env: keys, proxy: true},
		"machine's role":         {kind: record.Bucket, url: "s3://acme", auth: record.AuthAWS, env: map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL}, proxy: true},
		"code behind the cloud":  {kind: record.Bucket, url: "https://abc.execute-api.eu-central-1.amazonaws.com/acme", auth: record.AuthAWS, env: keys, proxy: true},
		"proxy before ECR":       {kind: record.OCI, url: "oci://123456789012.dkr.ecr.eu-central-1.amazonaws.com/app", auth: record.AuthAWS, env: keys, proxy: true},
		"endpoint of ECR":        {kind: record.OCI, url: "oci://123456789012.dkr.ecr.eu-central-1.amazonaws.com/app", auth: record.AuthAWS, env: keys, endpoint: true, proxy: true},
		"function as a registry": {kind: record.OCI, url: "oci://abc.lambda-url.eu-central-1.on.aws/app", auth: record.AuthAWS, env: keys, proxy: true},
		"chart in S3":            {kind: record.Helm, url: "https://acme.s3.eu-central-1.amazonaws.com/charts", auth: record.AuthAWS, env: keys, proxy: true},
		"proxy before GCS":       {kind: record.Bucket, url: "gs://acme", auth: record.AuthGCP, proxy: true},
		"proxy before GAR":       {kind: record.OCI, url: "oci://europe-docker.pkg.dev/acme/app", auth: record.AuthGCP, proxy: true},
		"endpoint of Entra":      {kind: record.OCI, url: "oci://acme.azurecr.io/app", auth: record.AuthAzure, endpoint: true, proxy: true},
		"proxy before Entra":     {kind: record.Bucket, url: "azblob://acme/files", auth: record.AuthAzure, proxy: true},
	}
	for name, tt := range tests {
		for _, allowed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/allowed %v", name, allowed), func(t *testing.T) {
				t.Parallel()
				th := newThief(t)
				r := record.Repository{Kind: tt.kind, URL: tt.url, Auth: tt.auth}
				r.Options.HubIdentity = allowed
				if tt.region != nil {
					r.Options.Region = tt.region(th)
				}
				if tt.endpoint {
					r.Options.Endpoint = "https://" + th.proxy.Listener.Addr().String()
				}
				if tt.proxy {
					r.Options.Proxy = th.plain(t)
				}
				w := newWorld(t, r, record.Credentials{CA: th.ca()}, func(c *artifactagent.Config) {
					c.Env = cloudauth.Environment{Getenv: func(name string) string {
						if tt.env != nil {
							return tt.env[name]
						}
						return env[name]
					}}
				})
				folder := ""
				if tt.kind == record.Helm {
					folder = "app"
				}
				ref := ""
				if tt.kind == record.OCI {
					ref = "v1"
				}
				h := w.head(w.track(ref, folder), "error", func(h record.Head) bool { return h.Error != "" })
				th.mu.Lock()
				defer th.mu.Unlock()
				for _, heard := range th.heard {
					for _, secret := range []string{"hub-federated-token", "hub-google-token", "hub-session-token", "HUBKEY"} {
						if strings.Contains(heard, secret) {
							t.Errorf("the tenant heard %s: %.300s", secret, heard)
						}
					}
				}
				if !strings.Contains(h.Error, "hub's own identity") && !strings.Contains(h.Error, "region") {
					t.Errorf("the status says nothing of the hub's own identity: %s", h.Error)
				}
			})
		}
	}
}

// plain is the proxy without TLS before itself.
func (th *thief) plain(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(th.serve))
	t.Cleanup(s.Close)
	return s.URL
}
