package backend_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/hub/config/backend"
	"github.com/axle-cd/axle/hub/config/configtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/cloudserver"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/vaultserver"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func startVault(t *testing.T) *vaultserver.Server {
	t.Helper()
	s := vaultserver.Start()
	t.Cleanup(s.Close)
	return s
}

func newVault(t *testing.T, c backend.VaultConfig) *backend.Vault {
	t.Helper()
	v, err := backend.NewVault(c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVaultKeepsTheContract(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(*testing.T, *vaultserver.Server) backend.VaultConfig{
		"token": func(t *testing.T, s *vaultserver.Server) backend.VaultConfig {
			return backend.VaultConfig{TokenFile: write(t, s.Token()+"\n")}
		},
		"kubernetes": func(t *testing.T, _ *vaultserver.Server) backend.VaultConfig {
			return backend.VaultConfig{Role: vaultserver.Role, JWTFile: write(t, vaultserver.JWT)}
		},
		"approle": func(t *testing.T, _ *vaultserver.Server) backend.VaultConfig {
			return backend.VaultConfig{RoleID: vaultserver.RoleID, SecretIDFile: write(t, vaultserver.SecretID)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startVault(t)
			c := config(t, s)
			c.Address = s.URL()
			v := newVault(t, c)
			configtest.Contract(t, configtest.Subject{Backend: v, Prefix: "axle/", Away: func(away bool) {
				s.Fail(map[bool]int{true: http.StatusServiceUnavailable}[away])
			}})
			if name == "token" {
				return
			}
			before := s.Logins()
			s.Revoke()
			if err := v.Check(t.Context()); err != nil || s.Logins() != before+1 {
				t.Errorf("after the token was revoked: %v, %d logins", err, s.Logins()-before)
			}
		})
	}
}

func TestVaultTakesANewTokenFromItsFile(t *testing.T) {
	t.Parallel()
	s := startVault(t)
	file := write(t, s.Token())
	v := newVault(t, backend.VaultConfig{Address: s.URL(), TokenFile: file})
	if err := v.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Revoke()
	if err := v.Check(t.Context()); !errcode.Is(err, errcode.Forbidden) {
		t.Errorf("with a token that was revoked: %v", err)
	}
	if err := os.WriteFile(file, []byte(s.Token()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := v.Check(t.Context()); err != nil {
		t.Errorf("with a new one in the file: %v", err)
	}
}

func TestKubernetesKeepsTheContract(t *testing.T) {
	t.Parallel()
	cluster := kube.New(t, kube.ClusterConfig{})
	k, err := backend.NewKubernetes(backend.KubernetesConfig{Namespace: "default", Kubeconfig: cluster.Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	configtest.Contract(t, configtest.Subject{Backend: k, Prefix: "axle-"})

	// A value is never what makes its reader an administrator of a cluster.
	api, err := kubernetes.NewForConfig(cluster.Config())
	if err == nil {
		_, err = api.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "edge-kubeconfig"}, Type: "cluster.x-k8s.io/secret", StringData: map[string]string{"value": "canary"}}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if values, err := k.Read(t.Context(), "edge-kubeconfig"); !errcode.Is(err, errcode.Forbidden) || len(values) > 0 || strings.Contains(err.Error(), "canary") {
		t.Errorf("a credential of a cluster: %v, %v", values, err)
	}
}

// cloud is one with the credentials that each backend needs.
func cloud(t *testing.T) (*cloudserver.Server, func(away bool)) {
	t.Helper()
	s := cloudserver.Start()
	t.Cleanup(s.Close)
	s.Require("AKIAEXAMPLE", "aws-secret")
	return s, func(away bool) { s.FailSecrets(map[bool]int{true: http.StatusInternalServerError}[away]) }
}

func TestAWSKeepsTheContract(t *testing.T) {
	t.Parallel()
	s, away := cloud(t)
	b, err := backend.NewAWS(backend.AWSConfig{Region: "eu-central-1", Endpoint: s.URL(), AccessKeyID: "AKIAEXAMPLE", SecretAccessKeyFile: write(t, "aws-secret")})
	if err != nil {
		t.Fatal(err)
	}
	configtest.Contract(t, configtest.Subject{Backend: b, Prefix: "axle/", Away: away})
	bad, err := backend.NewAWS(backend.AWSConfig{Endpoint: s.URL(), AccessKeyID: "AKIAEXAMPLE", SecretAccessKeyFile: write(t, "wrong")})
	if err != nil {
		t.Fatal(err)
	}
	if err := bad.Check(t.Context()); !errcode.Is(err, errcode.Forbidden) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong key: %v", err)
	}
}

func TestGCPKeepsTheContract(t *testing.T) {
	t.Parallel()
	s, away := cloud(t)
	b, err := backend.NewGCP(backend.GCPConfig{Project: "acme", Endpoint: s.URL(), Getenv: func(name string) string {
		return map[string]string{"GCE_METADATA_HOST": s.Host()}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	configtest.Contract(t, configtest.Subject{Backend: b, Prefix: "axle-", Away: away})
}

func TestAzureKeepsTheContract(t *testing.T) {
	t.Parallel()
	s, away := cloud(t)
	b, err := backend.NewAzure(backend.AzureConfig{
		VaultURL: s.URL(), TenantID: "tenant", ClientID: "app", ClientSecretFile: write(t, "client-secret"), Authority: s.URL(),
	})
	if err != nil {
		t.Fatal(err)
	}
	configtest.Contract(t, configtest.Subject{Backend: b, Prefix: "axle-", Away: away})
}

// folder is a repository with the files of testdata.
type folder struct{}

func (folder) File(_ context.Context, _ backend.SOPSConfig, name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if os.IsNotExist(err) {
		return nil, errcode.New(errcode.NotFound, "there is no file %q", name)
	}
	return text, err
}

// The files were encrypted by SOPS 3.13.3 itself.
func TestSOPSReadsWhatSOPSWrote(t *testing.T) {
	t.Parallel()
	s, err := backend.NewSOPS(backend.SOPSConfig{Repository: "apps", Ref: "main", AgeKeyFile: "testdata/age.key", Files: folder{}})
	if err != nil {
		t.Fatal(err)
	}
	whole := map[string]string{
		"db.user": "shop", "db.password": "correct horse battery staple", "db.port": "5432", "db.ratio": "0.5", "db.tls": "true", "db.empty": "",
		"hosts": `["one.example.com","two.example.com"]`, "token": "p\"ss w/rd+ü",
	}
	for name, want := range map[string]map[string]string{
		"prod.enc.yaml": whole, "regex.enc.yaml": whole, "partly.enc.yaml": whole,
		"prod.enc.json": {"db.password": "json secret", "db.port": "5432", "list": `["a","1"]`},
	} {
		got, err := s.Read(t.Context(), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmp.Transformer("bool", strings.ToLower)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Read(t.Context(), "missing.yaml"); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("of nothing: %v", err)
	}
	if err := s.Write(t.Context(), "x", nil); !errcode.Is(err, errcode.Invalid) || s.Limit() != 0 {
		t.Errorf("it can be written: %v", err)
	}
}

// edited is a repository with one file that was changed by hand.
type edited struct{ text string }

func (e edited) File(_ context.Context, _ backend.SOPSConfig, _ string) ([]byte, error) {
	return []byte(e.text), nil
}

// aliases is a list of ten lists of ten, and so on, ten deep.
func aliases() string {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for n := range 10 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", n+1, n+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", n), 10), ","))
	}
	return b.String()
}

// longKeys are 2000 keys of 200 characters.
func longKeys() string {
	var b strings.Builder
	for n := range 2000 {
		fmt.Fprintf(&b, "k%d%s: x\n", n, strings.Repeat("abc", 66))
	}
	return b.String()
}

func TestSOPSRefusesWhatWasChanged(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/regex.enc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for name, changed := range map[string]string{
		"a plain value":       strings.Replace(text, "user: shop", "user: root", 1),
		"a value in the open": strings.Replace(text, text[strings.Index(text, "token: ENC"):strings.Index(text, "sops:")], "token: open\n", 1),
		"no metadata":         text[:strings.Index(text, "sops:")],
		"not an object":       "- 1",
		// These end before their values are read; see maxReading.
		"aliases of aliases": aliases() + text,
		"a dear expression":  strings.Replace(text, "^(password|token)$", strings.Repeat("(a?b?c?){300}", 3)+"$", 1) + longKeys(),
	} {
		if changed == text {
			t.Fatalf("%s: nothing was changed", name)
		}
		s, err := backend.NewSOPS(backend.SOPSConfig{Repository: "apps", Ref: "main", AgeKeyFile: "testdata/age.key", Files: edited{changed}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read(t.Context(), "x"); !errcode.Is(err, errcode.Invalid) || strings.Contains(err.Error(), "battery") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestFileOfBackends(t *testing.T) {
	t.Parallel()
	token := write(t, "t")
	good := "default: vault\nrefresh: 5m\nbackends:\n- name: vault\n  type: vault\n  allow: [\"apps/{project}/\"]\n  vault: {address: https://vault.example.com, tokenFile: " + token + "}\n- name: git\n  type: sops\n  sops: {repository: apps, ref: main, ageKeyFile: testdata/age.key}\n"
	f, err := backend.Load(write(t, good), folder{})
	if err != nil || len(f.Backends) != 2 || f.RefreshEvery.Minutes() != 5 || *f.Backends[0].Prefix != "axle/" {
		t.Fatalf("%+v, %v", f, err)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"type":       {"backends: [{name: a, type: etcd}]", "type"},
		"block":      {"backends: [{name: a, type: vault}]", "type"},
		"field":      {"backends: [{name: a, type: vault, vault: {adress: x}}]", "adress"},
		"name":       {"backends: [{name: A b, type: aws}]", "name"},
		"plain http": {"backends: [{name: a, type: vault, vault: {address: http://vault.example.com, tokenFile: x}}]", "https"},
		"two logins": {"backends: [{name: a, type: vault, vault: {address: https://x.example.com, tokenFile: x, role: y}}]", "one of"},
		"no key":     {"backends: [{name: a, type: sops, sops: {repository: a, ref: b, ageKeyFile: /missing}}]", "ageKeyFile"},
		"refresh":    {"refresh: often", "refresh"},
	} {
		if _, err := backend.Load(write(t, tc.text), folder{}); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
