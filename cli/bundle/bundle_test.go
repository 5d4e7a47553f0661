package bundle_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/cli/bundle"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/release"
	"github.com/axle-cd/axle/test/registryserver"
)

// signer is a release key with the file of its public half.
type signer struct {
	sign   release.Signer
	public string
	der    []byte
}

func newSigner(t testing.TB) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "release.pub")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
	return signer{func(message []byte) ([]byte, error) {
		sum := sha256.Sum256(message)
		return ecdsa.SignASN1(rand.Reader, key, sum[:])
	}, file, der}
}

// newRelease writes a release with an image of two platforms, a chart and a file.
func newRelease(t testing.TB, s *signer) string {
	t.Helper()
	dir := t.TempDir()
	l, err := release.NewLayout(filepath.Join(dir, "oci"))
	if err != nil {
		t.Fatal(err)
	}
	put := func(d ocispec.Descriptor, err error) ocispec.Descriptor {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	var platforms []ocispec.Descriptor
	for _, arch := range []string{"amd64", "arm64"} {
		layer := put(l.Put(ocispec.MediaTypeImageLayerGzip, bytes.Repeat([]byte("program for "+arch+"\n"), 200)))
		config := put(l.PutJSON(ocispec.MediaTypeImageConfig, ocispec.Image{Platform: ocispec.Platform{OS: "linux", Architecture: arch}}))
		m := put(l.PutManifest("", config, []ocispec.Descriptor{layer}, nil))
		m.Platform = &ocispec.Platform{OS: "linux", Architecture: arch}
		platforms = append(platforms, m)
	}
	index := put(l.PutIndex(platforms, nil))
	hub := release.Artifact{Repository: "axle-cd/axle-hub", Tag: "1.4.2", Digest: index.Digest, Attested: []string{"bill", "provenance"}}
	l.Name(index, hub.Ref())
	m := put(l.PutManifest("", put(l.Put("application/vnd.cncf.helm.config.v1+json", []byte("{}"))),
		[]ocispec.Descriptor{put(l.Put("application/vnd.cncf.helm.chart.content.v1.tar+gzip", []byte("a chart")))}, nil))
	chart := release.Artifact{Repository: "axle-cd/charts/axle", Tag: "1.4.2", Digest: m.Digest}
	l.Name(m, chart.Ref())
	m = put(l.PutManifest(release.TypeComponents, put(l.Put(ocispec.MediaTypeEmptyJSON, []byte("{}"))),
		[]ocispec.Descriptor{put(l.Put(release.TypeComponent, []byte(coreComponent)))}, nil))
	components := release.Artifact{Repository: release.Components, Tag: "1.4.2", Digest: m.Digest}
	l.Name(m, components.Ref())
	files := filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "axle_1.4.2_linux_amd64.tar.gz"), []byte("the client"), 0o644); err != nil {
		t.Fatal(err)
	}
	client := put(l.Put("x", []byte("the client")))
	r := &release.Release{Version: "1.4.2", Commit: strings.Repeat("ab", 20), Time: time.Unix(1700000000, 0).UTC(), Artifacts: []release.Artifact{hub, chart, components},
		Files: []release.File{{Name: "axle_1.4.2_linux_amd64.tar.gz", Digest: client.Digest, Size: client.Size}}}
	whole, err := l.PutRelease(r, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s != nil {
		for _, a := range []release.Artifact{hub, chart, components, whole} {
			if err := l.Sign(a, "ghcr.io/"+a.Repository, s.sign); err != nil {
				t.Fatal(err)
			}
		}
		subject := []release.Subject{{Name: "axle-hub", Digest: map[string]string{"sha256": hub.Digest.Encoded()}}}
		var statements []release.Statement
		for _, kind := range hub.Attested {
			statements = append(statements, release.Statement{Type: release.StatementType, Subject: subject, PredicateType: kind, Predicate: "made here"})
		}
		if err := l.Attest(hub, statements, s.sign); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// axle runs axle bundle and returns standard output and error.
func axle(t testing.TB, ca string, args ...string) (string, string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &command.App{Streams: command.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Getenv: func(string) string { return "" }, Now: time.Now, CAFile: ca, Output: "table"}
	c := bundle.Command(a)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&errs)
	err := c.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func must(t testing.TB, args ...string) string {
	t.Helper()
	out, errs, err := axle(t, "", args...)
	if err != nil {
		t.Fatalf("axle bundle %v: %v\n%s", args, err, errs)
	}
	return out
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRoundTrip carries a release over an empty registry: the bundle that is made from
// there is, byte for byte, the one that was pushed.
func TestRoundTrip(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	s := newSigner(t)
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.tar"), filepath.Join(dir, "second.tar")
	must(t, "create", first, "--from", newRelease(t, &s), "--key", s.public)
	out := must(t, "verify", first, "--key", s.public)
	for _, want := range []string{"axle-cd/axle-hub:1.4.2", "axle-cd/charts/axle:1.4.2", "axle_1.4.2_linux_amd64.tar.gz"} {
		if !strings.Contains(out, want) {
			t.Errorf("verify lists no %s:\n%s", want, out)
		}
	}
	server := registryserver.Start(true)
	defer server.Close()
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.HTTP().Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := axle(t, "", "push", first, server.Host(), "--key", s.public); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a registry with a certificate of nobody: %v", err)
	}
	if _, errs, err := axle(t, ca, "push", first, server.Host()+"/mirror", "--key", s.public); err != nil || !strings.Contains(errs, "--set global.registry="+server.Host()+"/mirror") {
		t.Fatalf("push: %v\n%s", err, errs)
	}
	if _, _, err := axle(t, ca, "create", second, "--from", server.Host()+"/mirror", "--version", "1.4.2", "--key", s.public); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, first), read(t, second)) {
		t.Error("the bundle made from the registry is another")
	}
	// What is there is not sent again.
	before := len(server.Requests(http.MethodPost, "/uploads/"))
	if _, _, err := axle(t, ca, "push", first, server.Host()+"/mirror", "--key", s.public); err != nil {
		t.Fatal(err)
	}
	if after := len(server.Requests(http.MethodPost, "/uploads/")); after != before || before == 0 {
		t.Errorf("the second push sent %d blobs, the first %d", after-before, before)
	}
}

// TestCompiledInKey uses the key that a release has.
func TestCompiledInKey(t *testing.T) {
	s := newSigner(t)
	dir := newRelease(t, &s)
	if _, _, err := axle(t, "", "verify", dir); err == nil || !strings.Contains(err.Error(), "this axle is no release") {
		t.Errorf("a development build without --key: %v", err)
	}
	buildinfo.ReleaseKey = base64.StdEncoding.EncodeToString(s.der)
	defer func() { buildinfo.ReleaseKey = "" }()
	must(t, "verify", dir)
	other := newSigner(t)
	if _, _, err := axle(t, "", "verify", newRelease(t, &other)); err == nil || !strings.Contains(err.Error(), "axle-cd/release:1.4.2, its signature: the signature is not of the trusted key") {
		t.Errorf("a release of somebody else: %v", err)
	}
	unsigned := newRelease(t, nil)
	if _, _, err := axle(t, "", "verify", unsigned); err == nil || !strings.Contains(err.Error(), "axle-cd/axle-hub:1.4.2 is not signed") {
		t.Errorf("an unsigned release: %v", err)
	}
	must(t, "verify", unsigned, "--insecure-unsigned")
}

// TestInterruptedPush lets the registry fail in the middle: there is no list of the
// release then, and the same command goes on.
func TestInterruptedPush(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	s := newSigner(t)
	dir := newRelease(t, &s)
	server := registryserver.Start(false)
	defer server.Close()
	var writes atomic.Int64
	server.Fault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && writes.Add(1) > 5 {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	args := []string{"push", dir, server.Host(), "--plain-http", "--key", s.public}
	if _, _, err := axle(t, "", args...); err == nil || !strings.Contains(err.Error(), "run the command again to go on") {
		t.Fatalf("got %v", err)
	}
	if n := len(server.Requests(http.MethodPut, "/v2/axle-cd/release/manifests/1.4.2")); n != 0 {
		t.Error("the list was there before its contents")
	}
	server.Fault(nil)
	sent := len(server.Requests(http.MethodPost, "/uploads/"))
	if _, _, err := axle(t, "", args...); err != nil {
		t.Fatal(err)
	}
	resumed := len(server.Requests(http.MethodPost, "/uploads/")) - sent
	empty := registryserver.Start(false)
	defer empty.Close()
	args[2] = empty.Host()
	if _, _, err := axle(t, "", args...); err != nil {
		t.Fatal(err)
	}
	if all := len(empty.Requests(http.MethodPost, "/uploads/")); resumed >= all {
		t.Errorf("the second run sent %d blobs of %d: it began anew", resumed, all)
	}
}

// TestLogin uses what docker login stored.
func TestLogin(t *testing.T) {
	s := newSigner(t)
	dir := newRelease(t, &s)
	server := registryserver.Start(false)
	defer server.Close()
	server.Require("ann", "secret-of-ann", false)
	home := t.TempDir()
	t.Setenv("DOCKER_CONFIG", home)
	args := []string{"push", dir, server.Host(), "--plain-http", "--key", s.public}
	if _, _, err := axle(t, "", args...); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a login: %v", err)
	}
	config := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, server.Host(), base64.StdEncoding.EncodeToString([]byte("ann:secret-of-ann")))
	if err := os.WriteFile(filepath.Join(home, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, err := axle(t, "", args...); err != nil || strings.Contains(errs, "secret-of-ann") {
		t.Errorf("with a login: %v\n%s", err, errs)
	}
}

// TestDiskFull writes a bundle to a disk that is too small: nothing is left there.
func TestDiskFull(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=8k"); err != nil {
		t.Fatalf("a small disk needs the right to mount tmpfs, run the tests as root: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	}()
	s := newSigner(t)
	_, _, err := axle(t, "", "create", filepath.Join(small, "axle.tar"), "--from", newRelease(t, &s), "--key", s.public)
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "the bundle takes") {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(small); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// TestKilledCreate begins where a killed run left half a file, and refuses to write into
// the file of one that runs.
func TestKilledCreate(t *testing.T) {
	s := newSigner(t)
	dir, file := newRelease(t, &s), filepath.Join(t.TempDir(), "axle.tar")
	left, err := os.OpenFile(file+".unfinished", os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := left.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(left.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, _, err := axle(t, "", "create", file, "--from", dir, "--key", s.public); err == nil || !strings.Contains(err.Error(), "another axle bundle create is writing") {
		t.Errorf("while another one writes: %v", err)
	}
	left.Close() // its process is dead
	must(t, "create", file, "--from", dir, "--key", s.public)
	must(t, "verify", file, "--key", s.public)
	if _, err := os.Stat(file + ".unfinished"); !os.IsNotExist(err) {
		t.Errorf("the half file is left: %v", err)
	}
}

func TestMistakes(t *testing.T) {
	s := newSigner(t)
	dir := newRelease(t, &s)
	garbage := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(garbage, []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a scheme":       {[]string{"push", dir, "https://registry.internal", "--key", s.public}, "without a scheme"},
		"no such file":   {[]string{"verify", "nowhere.tar", "--key", s.public}, "nowhere.tar"},
		"two wishes":     {[]string{"verify", dir, "--key", s.public, "--insecure-unsigned"}, "contradict"},
		"a private key":  {[]string{"verify", dir, "--key", garbage}, "want PUBLIC KEY"},
		"no version":     {[]string{"create", "x.tar", "--from", "registry.internal", "--key", s.public}, "--version"},
		"an odd name":    {[]string{"create", "x.tar", "--from", "registry.internal/UPPER", "--version", "1", "--key", s.public}, "is no repository"},
		"a plain folder": {[]string{"verify", t.TempDir(), "--key", s.public}, "neither a bundle nor the folder of a release"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := axle(t, "", tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// FuzzVerify reads bundles of others: whatever it is, it ends with an answer. Without
// signatures, because every process of a fuzz test would have a key of its own.
func FuzzVerify(f *testing.F) {
	whole := filepath.Join(f.TempDir(), "whole.tar")
	must(f, "create", whole, "--from", newRelease(f, nil), "--insecure-unsigned")
	good := read(f, whole)
	f.Add(good[:8192])
	f.Add(good)
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "b.tar")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		out, _, err := axle(t, "", "verify", file, "--insecure-unsigned")
		if err == nil && !strings.Contains(out, "DIGEST") {
			t.Errorf("accepted without saying what:\n%s", out)
		}
	})
}
