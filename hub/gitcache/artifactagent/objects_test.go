package artifactagent_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache/artifactagent"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/hub/gitcache/upstream/cloudauth"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/cloudserver"
)

func newCloud(t *testing.T) *cloudserver.Server {
	t.Helper()
	s := cloudserver.Start()
	t.Cleanup(s.Close)
	return s
}

func TestABucketIsFollowed(t *testing.T) {
	t.Parallel()
	s := newCloud(t)
	s.Put("deploy/a.yaml", "a: 1")
	s.Put("deploy/sub/with space & more.yaml", "b: 1")
	s.Put("deploy/", "")
	s.Put("deployed/c.yaml", "c: 1")
	w := newWorld(t, record.Repository{Kind: record.Bucket, URL: s.BucketURL()}, record.Credentials{})
	source, none := w.track("", "deploy"), w.track("", "nothing")
	h := w.head(source, "content", func(h record.Head) bool { return h.Digest != "" })
	want := map[string]string{"a.yaml": "a: 1", "sub/with space & more.yaml": "b: 1"}
	if diff := cmp.Diff(want, w.files(h)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	w.failing(none, "no objects under")
	before := len(s.Requests(http.MethodGet, "/bucket/deploy"))
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Requests(http.MethodGet, "/bucket/deploy")); n != before {
		t.Errorf("a poll without news read %d objects", n-before)
	}
	s.Put("deploy/a.yaml", "a: 2")
	s.Put("nothing/x.yaml", "x: 1")
	s.Delete("deploy/sub/with space & more.yaml")
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	next := w.head(source, "other content", func(n record.Head) bool { return n.Digest != h.Digest })
	if diff := cmp.Diff(map[string]string{"a.yaml": "a: 2"}, w.files(next)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	w.head(none, "its first content", func(h record.Head) bool { return h.Error == "" })
	if old, err := w.rebuild(h); err != nil || old["a.yaml"] != "a: 1" {
		t.Errorf("what a rollback needs is %v, %v", old, err)
	}
	s.Put("deploy/../evil", "x")
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	if h := w.failing(source, "refused"); h.Digest != next.Digest {
		t.Errorf("head moved: %+v", h)
	}
}

func serviceAccount(t *testing.T, tokenURL string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "robot@example.com", "private_key_id": "1", "token_uri": tokenURL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestLoginToBuckets checks each authentication kind, with the repository's
// keys and with the hub's own role.
func TestLoginToBuckets(t *testing.T) {
	t.Parallel()
	identity := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(identity, []byte("identity\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("never-given"), 0o600); err != nil {
		t.Fatal(err)
	}
	type setup struct {
		auth    record.AuthKind
		creds   func(t *testing.T, s *cloudserver.Server) record.Credentials
		env     func(s *cloudserver.Server) map[string]string
		notOurs bool   // the host is not the cloud's
		err     string // why it fails
	}
	none := func(*testing.T, *cloudserver.Server) record.Credentials { return record.Credentials{} }
	keys := func(id, secret, role string) func(*testing.T, *cloudserver.Server) record.Credentials {
		return func(*testing.T, *cloudserver.Server) record.Credentials {
			return record.Credentials{AccessKeyID: id, SecretAccessKey: secret, AssumeRoleARN: role}
		}
	}
	webIdentity := func(s *cloudserver.Server) map[string]string {
		return map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": identity, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/axle", "AWS_ENDPOINT_URL_STS": s.URL() + "/"}
	}
	tests := map[string]setup{
		"aws keys":      {auth: record.AuthAWS, creds: keys("AKIA1", "secret-key", "")},
		"aws wrong key": {auth: record.AuthAWS, creds: keys("AKIA1", "wrong-secret", ""), err: "403"},
		"aws role": {auth: record.AuthAWS, creds: keys("AKIA1", "secret-key", "arn:aws:iam::123456789012:role/other"),
			env: func(s *cloudserver.Server) map[string]string {
				return map[string]string{"AWS_ENDPOINT_URL_STS": s.URL() + "/"}
			}},
		"aws web identity": {auth: record.AuthAWS, creds: none, env: webIdentity},
		"aws pod identity": {auth: record.AuthAWS, creds: none, env: func(s *cloudserver.Server) map[string]string {
			return map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": s.URL() + "/pod", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": identity}
		}},
		"aws own role elsewhere": {auth: record.AuthAWS, creds: none, env: webIdentity, notOurs: true, err: "not a host of this cloud service"},
		"aws machine's role": {auth: record.AuthAWS, creds: none, env: func(s *cloudserver.Server) map[string]string {
			return map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": s.URL()}
		}},
		"aws nothing": {auth: record.AuthAWS, creds: none, err: "no AWS keys", env: func(*cloudserver.Server) map[string]string {
			return map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}
		}},
		"aws web identity refused": {auth: record.AuthAWS, creds: none, err: "AWS refuses the role: AccessDenied", env: func(s *cloudserver.Server) map[string]string {
			env := webIdentity(s)
			env["AWS_WEB_IDENTITY_TOKEN_FILE"] = wrong
			return env
		}},
		"gcp account": {auth: record.AuthGCP, creds: func(t *testing.T, s *cloudserver.Server) record.Credentials {
			return record.Credentials{ServiceAccountJSON: serviceAccount(t, s.URL()+"/google/token")}
		}},
		"gcp metadata": {auth: record.AuthGCP, creds: none, env: func(s *cloudserver.Server) map[string]string {
			return map[string]string{"GCE_METADATA_HOST": s.Host()}
		}},
		"gcp own account elsewhere": {auth: record.AuthGCP, creds: none, notOurs: true, err: "not a host of this cloud service"},
		"azure secret": {auth: record.AuthAzure, creds: func(*testing.T, *cloudserver.Server) record.Credentials {
			return record.Credentials{TenantID: "tenant", ClientID: "app", ClientSecret: "client-secret"}
		}, env: func(s *cloudserver.Server) map[string]string {
			return map[string]string{"AZURE_AUTHORITY_HOST": s.URL() + "/"}
		}},
		"azure wrong secret": {auth: record.AuthAzure, creds: func(*testing.T, *cloudserver.Server) record.Credentials {
			return record.Credentials{TenantID: "tenant", ClientID: "app", ClientSecret: "wrong-secret"}
		}, env: func(s *cloudserver.Server) map[string]string {
			return map[string]string{"AZURE_AUTHORITY_HOST": s.URL()}
		}, err: "invalid_client"},
		"azure workload identity": {auth: record.AuthAzure, creds: none, env: func(s *cloudserver.Server) map[string]string {
			return map[string]string{"AZURE_AUTHORITY_HOST": s.URL(), "AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "app", "AZURE_FEDERATED_TOKEN_FILE": identity}
		}},
		"bearer": {auth: record.AuthBearer, creds: func(*testing.T, *cloudserver.Server) record.Credentials {
			return record.Credentials{Password: "never-given"}
		}, err: "403"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCloud(t)
			s.Require("AKIA1", "secret-key")
			s.Put("deploy/a b.yaml", "a: 1")
			env := map[string]string{}
			if tt.env != nil {
				env = tt.env(s)
			}
			r := record.Repository{Kind: record.Bucket, URL: s.BucketURL(), Auth: tt.auth}
			creds := tt.creds(t, s)
			r.Options.HubIdentity = creds == (record.Credentials{})
			w := newWorld(t, r, creds, func(c *artifactagent.Config) {
				c.Env = cloudauth.Environment{Getenv: func(name string) string { return env[name] }, Own: func(string) bool { return !tt.notOurs }}
			})
			source := w.track("", "deploy")
			if tt.err == "" {
				w.head(source, "content", func(h record.Head) bool { return h.Digest != "" && h.Error == "" })
				return
			}
			h := w.failing(source, tt.err)
			for _, secret := range []string{"wrong-secret", "never-given"} {
				if strings.Contains(h.Error, secret) {
					t.Errorf("the error shows a secret: %s", h.Error)
				}
			}
		})
	}
}

// TestTokenServicesAreUpstreams checks that the SDK calls the token service of
// AWS by the repository's client, with its rules of addresses.
func TestTokenServicesAreUpstreams(t *testing.T) {
	t.Parallel()
	for name, creds := range map[string]record.Credentials{
		"a role that keys assume": {AccessKeyID: "AKIA1", SecretAccessKey: "secret-key", AssumeRoleARN: "arn:aws:iam::123456789012:role/other"},
		"a web identity":          {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCloud(t)
			s.Require("AKIA1", "secret-key")
			env := map[string]string{"AWS_ENDPOINT_URL_STS": s.URL() + "/"}
			if creds.AccessKeyID == "" {
				file := filepath.Join(t.TempDir(), "identity")
				if err := os.WriteFile(file, []byte("identity"), 0o600); err != nil {
					t.Fatal(err)
				}
				env["AWS_WEB_IDENTITY_TOKEN_FILE"], env["AWS_ROLE_ARN"] = file, "arn:aws:iam::123456789012:role/axle"
			}
			r := record.Repository{Kind: record.Bucket, URL: s.BucketURL(), Auth: record.AuthAWS}
			r.Options.HubIdentity = creds.AccessKeyID == ""
			w := newWorld(t, r, creds, func(c *artifactagent.Config) {
				c.Dialer = &upstream.Dialer{}
				c.Env = cloudauth.Environment{Getenv: func(name string) string { return env[name] }, Own: func(string) bool { return true }}
			})
			w.failing(w.track("", "deploy"), "is internal")
			if n := len(s.Requests(http.MethodPost, "/")); n != 0 {
				t.Errorf("the token service at an internal address was called %d times", n)
			}
		})
	}
}

// TestLoginToARegistryOfACloud checks how clouds issue passwords and tokens for
// their registries.
func TestLoginToARegistryOfACloud(t *testing.T) {
	t.Parallel()
	t.Run("ecr", func(t *testing.T) {
		t.Parallel()
		cloud, s := newCloud(t), newRegistry(t)
		cloud.Require("AKIA1", "secret-key")
		digest := push(t, s, "team/app", "v1", fluxArtifact("a.yaml", "a: 1"))
		s.Require("AWS", cloud.RegistryPassword(), true)
		r := ociRepository(s, "team/app")
		r.Auth, r.Options.Endpoint = record.AuthAWS, cloud.URL()+"/"
		w := newWorld(t, r, record.Credentials{AccessKeyID: "AKIA1", SecretAccessKey: "secret-key"})
		w.revision(w.track("v1", ""), "v1@"+digest)
		if err := w.refresh(); err != nil {
			t.Fatal(err)
		}
		if n := len(cloud.Requests(http.MethodPost, "/")); n != 1 {
			t.Errorf("ECR was asked %d times for one password", n)
		}
	})
	t.Run("acr", func(t *testing.T) {
		t.Parallel()
		cloud, s := newCloud(t), newRegistry(t)
		digest := push(t, s, "team/app", "v1", fluxArtifact("a.yaml", "a: 1"))
		s.Require("nobody", "nothing", false)
		s.Refresh("refresh-token")
		s.Fault(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/oauth2/exchange" {
				return false
			}
			if r.FormValue("access_token") == "" || r.FormValue("service") != s.Host() || r.FormValue("tenant") != "tenant" {
				w.WriteHeader(http.StatusUnauthorized)
				return true
			}
			_, _ = w.Write([]byte(`{"refresh_token":"refresh-token"}`))
			return true
		})
		r := ociRepository(s, "team/app")
		r.Auth, r.Options.Endpoint = record.AuthAzure, cloud.URL()
		w := newWorld(t, r, record.Credentials{TenantID: "tenant", ClientID: "app", ClientSecret: "client-secret"})
		w.revision(w.track("v1", ""), "v1@"+digest)
	})
	t.Run("own identity in the open", func(t *testing.T) {
		t.Parallel()
		s := newRegistry(t)
		s.Require("a", "b", true)
		for _, auth := range []record.AuthKind{record.AuthAWS, record.AuthGCP, record.AuthAzure} {
			r := ociRepository(s, "team/app")
			r.Auth, r.Options.HubIdentity = auth, true
			w := newWorld(t, r, record.Credentials{})
			if h := w.failing(w.track("v1", ""), "does not go over plain http"); h.ErrorCode != errcode.Invalid {
				t.Errorf("%s: %+v", auth, h)
			}
		}
	})
}
