package terraform_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/axle-cd/axle/hub/terraform"
)

func put(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("terraform-provider-axle_v1.4.2")
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type server struct {
	t   *testing.T
	mux *http.ServeMux
}

func serve(t *testing.T, dir string) server {
	t.Helper()
	key, err := terraform.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	s := server{t, http.NewServeMux()}
	terraform.New(terraform.Config{Dir: dir, Key: func(context.Context) ([]byte, error) { return key, nil }, Log: slog.New(slog.DiscardHandler)}).Register(s.mux)
	return s
}

func (s server) get(path string) (int, []byte) {
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.Bytes()
}

// TestSignatureIsOfTheSums verifies what terraform verifies.
func TestSignatureIsOfTheSums(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "terraform-provider-axle_1.4.2_linux_amd64.zip", zipped(t, "for linux"))
	put(t, dir, "terraform-provider-axle_1.4.2_darwin_arm64.zip", zipped(t, "for darwin"))
	put(t, dir, "notes.txt", []byte("not served"))
	s := serve(t, dir)
	code, body := s.get("/terraform/providers/axle-cd/axle/1.4.2/download/linux/amd64")
	var d struct {
		Shasum string `json:"shasum"`
		Sums   string `json:"shasums_url"`
		Sig    string `json:"shasums_signature_url"`
		URL    string `json:"download_url"`
		Keys   struct {
			GPG []struct {
				Armor string `json:"ascii_armor"`
			} `json:"gpg_public_keys"`
		} `json:"signing_keys"`
	}
	if err := json.Unmarshal(body, &d); err != nil || code != 200 || len(d.Keys.GPG) != 1 {
		t.Fatalf("%d %s %v", code, body, err)
	}
	_, sums := s.get(d.Sums)
	_, signature := s.get(d.Sig)
	ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(d.Keys.GPG[0].Armor))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(sums), bytes.NewReader(signature), nil); err != nil {
		t.Error(err)
	}
	if !strings.Contains(string(sums), d.Shasum+"  terraform-provider-axle_1.4.2_linux_amd64.zip\n") || strings.Count(string(sums), "\n") != 2 {
		t.Errorf("the sums are %s", sums)
	}
	if code, file := s.get(d.URL); code != 200 || !bytes.Equal(file, zipped(t, "for linux")) {
		t.Errorf("%d, %d bytes", code, len(file))
	}
}

// TestMirrorFollowsTheFolder: a file that is replaced has other hashes, without a restart.
func TestMirrorFollowsTheFolder(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	const mirror = "/terraform/mirror/registry.terraform.io/axle-cd/axle/"
	if code, _ := s.get(mirror + "index.json"); code != 404 {
		t.Errorf("an empty folder is answered with %d", code)
	}
	put(t, dir, "terraform-provider-axle_1.4.2_linux_amd64.zip", zipped(t, "one"))
	if code, body := s.get(mirror + "index.json"); code != 200 || string(body) != "{\"versions\":{\"1.4.2\":{}}}\n" {
		t.Errorf("%d %s", code, body)
	}
	_, one := s.get(mirror + "1.4.2.json")
	put(t, dir, "terraform-provider-axle_1.4.2_linux_amd64.zip", zipped(t, "another one"))
	_, two := s.get(mirror + "1.4.2.json")
	if !strings.Contains(string(one), `"h1:`) || bytes.Equal(one, two) {
		t.Errorf("%s\n%s", one, two)
	}
}

func TestNothingElseIsServed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "terraform-provider-axle_1.4.2_linux_amd64.zip", zipped(t, "one"))
	put(t, dir, "terraform-provider-axle_1.4.3_linux_amd64.zip", []byte("no zip"))
	put(t, dir, "secret.txt", []byte("hush"))
	s := serve(t, dir)
	for path, want := range map[string]int{
		"/.well-known/terraform.json":                                                    200,
		"/terraform/providers/axle-cd/axle/versions":                                     200,
		"/terraform/providers/hashicorp/aws/versions":                                    404,
		"/terraform/providers/axle-cd/axle/files/secret.txt":                             404,
		"/terraform/providers/axle-cd/axle/files/..%2Fsecret.txt":                        404,
		"/terraform/mirror/registry.terraform.io/axle-cd/axle/secret.txt":                404,
		"/terraform/mirror/registry.terraform.io/hashicorp/aws/index.json":               404,
		"/terraform/mirror/registry.opentofu.org/axle-cd/axle/1.4.2.json":                200,
		"/terraform/mirror/registry.terraform.io/axle-cd/axle/1.4.3.json":                500,
		"/terraform/mirror/registry.terraform.io/axle-cd/axle/9.9.9.json":                404,
		"/terraform/providers/axle-cd/axle/1.4.2/download/plan9/amd64":                   404,
		"/terraform/providers/axle-cd/axle/9.9.9/SHA256SUMS.sig":                         404,
		"/terraform/mirror/x/axle-cd/axle/terraform-provider-axle_1.4.2_linux_amd64.zip": 200,
	} {
		if code, body := s.get(path); code != want || strings.Contains(string(body), "hush") {
			t.Errorf("%s: %d %s, want %d", path, code, body, want)
		}
	}
}
