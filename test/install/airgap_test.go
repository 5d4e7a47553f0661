package install_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/release"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/pages"
	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/registryserver"
)

// The page about air gaps works as it stands: a release is carried from one registry, or
// from its folder, into another, checked by an axle that has the key of the release, and
// the control plane and an agent come from there. The release is signed as ours are, and
// its images are small: the process kubelet takes those of the inner registry's name from
// this tree's programs (make soak has a real node pull them). Names of hosts, the version
// and folders are the test's.
func TestThePageAirGap(t *testing.T) {
	sideBySide(t)
	const page = "howto/air-gap"
	outside, inside, mirror := registryserver.Start(true), registryserver.Start(true), registryserver.Start(true)
	for _, r := range []*registryserver.Server{outside, inside, mirror} {
		defer r.Close()
	}
	b, edge := newBedOf(t, inside.Host()+"/"), newCluster(t, inside.Host()+"/")
	dir := t.TempDir()
	key := signedRelease(t, filepath.Join(dir, "dist", "release"))
	must(t, os.WriteFile(filepath.Join(dir, "release.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: key}), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: outside.HTTP().Certificate().Raw}), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, ".kube"), 0o700))
	config, err := os.ReadFile(edge.Kubeconfig())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, ".kube", "edge-1"), config, 0o600))
	values := map[string]any{}
	must(t, yaml.Unmarshal([]byte(b.machine()), &values))
	delete(values, "global")
	for _, part := range []string{"hub", "operator", "agent"} { // images by their own names
		delete(values[part].(map[string]any), "image")
	}
	text, err := yaml.Marshal(values)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "values.yaml"), text, 0o600))
	hub, err := bin.Path(t.Context(), "axle-hub", bin.Options{})
	must(t, err)
	// The key is this test's. What is built here is as old as the program without one.
	_, err = bin.Path(t.Context(), "axle", bin.Options{})
	must(t, err)
	release := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-w -X github.com/axle-cd/axle/internal/buildinfo.ReleaseKey="+base64.StdEncoding.EncodeToString(key), "-o", filepath.Join(dir, "axle"), "../../cmd/axle")
	release.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := release.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	names := strings.NewReplacer("registry.internal:5000", mirror.Host(), "registry.internal", inside.Host(), "ghcr.io", outside.Host(), "1.4.2", buildinfo.Version,
		"/var/lib/axle", filepath.Join(dir, "hub"))
	env := b.env("HOME="+dir, "KUBECONFIG="+b.Kubeconfig(), "DOCKER_CONFIG="+dir, "SSL_CERT_FILE="+filepath.Join(dir, "ca.pem"), "PATH="+dir+":"+filepath.Dir(hub)+":"+os.Getenv("PATH"))
	run := func(line int, script string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", names.Replace(script))
		command.Dir, command.Env = dir, env
		out, err := command.CombinedOutput()
		t.Logf("%s:%d\n%s\n%s", page, line, script, out)
		if err != nil {
			t.Fatalf("%s.md:%d: %v\n%s", page, line, err, out)
		}
		return string(out)
	}
	// What who publishes a release does.
	run(0, "axle bundle push dist/release ghcr.io --key release.pub")
	blocks, err := pages.Script("../../docs/" + page + ".md")
	must(t, err)
	ran := map[string]string{}
	for _, block := range blocks {
		words := strings.Fields(block.Text)
		if words[0] == "axle-hub" {
			serves(t, names.Replace(strings.TrimSpace(block.Text)), env)
			continue
		}
		ran[strings.Join(words[1:min(3, len(words))], " ")] = run(block.Line, block.Text)
	}
	for command, want := range map[string]string{
		"bundle create": "axle-" + buildinfo.Version + ".tar", "bundle verify": "unaltered", "bundle push": "Axle " + buildinfo.Version + " is in " + mirror.Host() + "/mirror",
		"install --registry": "Axle is at " + b.url, "clusters connect": "edge-1",
	} {
		if !strings.Contains(ran[command], want) {
			t.Errorf("axle %s says %q, not %q", command, ran[command], want)
		}
	}
	// Everything is in the registry, and what carries it further is the same file.
	run(0, "axle bundle create again.tar --from registry.internal --version 1.4.2 && cmp again.tar axle-1.4.2.tar")
	if have := b.kubectl("get", "pods", "-A", "-o", "jsonpath={.items[*].spec.containers[*].image}"); strings.Count(have, inside.Host()+"/axle-cd/") < 3 || strings.Contains(have, "ghcr.io") {
		t.Errorf("images: %s", have)
	}
	if have := run(0, "axle clusters list"); !strings.Contains(have, "mgmt") || !strings.Contains(have, "edge-1") {
		t.Errorf("clusters: %s", have)
	}
	run(0, "kubectl --kubeconfig .kube/edge-1 apply --dry-run=server -f edge-2.yaml && grep -q 'image: .*registry.internal/axle-cd/axle-agent:1.4.2' edge-2.yaml")
}

// serves runs a hub until it is ready.
func serves(t *testing.T, command string, env []string) {
	t.Helper()
	address, err := port.Address()
	must(t, err)
	var said bytes.Buffer
	hub := exec.CommandContext(t.Context(), "bash", "-c", "exec "+command)
	hub.Env = append(env, "AXLE_HUB_LISTEN="+address)
	hub.Stdout, hub.Stderr = &said, &said
	must(t, hub.Start())
	defer func() {
		if t.Failed() {
			t.Log(said.String())
		}
	}()
	eventually.For(t, limit, "the hub is ready", func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/readyz", nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return errNot(answer.Status)
		}
		return nil
	})
	must(t, hub.Process.Signal(syscall.SIGTERM))
	if err := hub.Wait(); err != nil {
		t.Errorf("%s: %v\n%s", command, err, said.String())
	}
}

// signedRelease writes a small release of this version into a folder, and returns the
// key that it is signed with.
func signedRelease(t *testing.T, dir string) []byte {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	sign := func(message []byte) ([]byte, error) {
		sum := sha256.Sum256(message)
		return ecdsa.SignASN1(rand.Reader, private, sum[:])
	}
	files := filepath.Join(dir, "files")
	must(t, os.MkdirAll(files, 0o755))
	l, err := release.NewLayout(filepath.Join(dir, "oci"))
	must(t, err)
	put := func(d ocispec.Descriptor, err error) ocispec.Descriptor {
		t.Helper()
		must(t, err)
		return d
	}
	r := &release.Release{Version: buildinfo.Version, Commit: strings.Repeat("ab", 20), Time: time.Unix(1700000000, 0).UTC()}
	for _, name := range []string{"axle-hub", "axle-operator", "axle-agent"} {
		layer := put(l.Put(ocispec.MediaTypeImageLayerGzip, []byte("the program "+name)))
		config := put(l.PutJSON(ocispec.MediaTypeImageConfig, ocispec.Image{Platform: ocispec.Platform{OS: "linux", Architecture: "amd64"}}))
		m := put(l.PutManifest("", config, []ocispec.Descriptor{layer}, nil))
		a := release.Artifact{Repository: release.Prefix + name, Tag: buildinfo.Version, Digest: m.Digest}
		l.Name(m, a.Ref())
		must(t, l.Sign(a, "ghcr.io/"+a.Repository, sign))
		r.Artifacts = append(r.Artifacts, a)
	}
	whole, err := l.PutRelease(r, files, nil)
	must(t, err)
	must(t, l.Sign(whole, "ghcr.io/"+whole.Repository, sign))
	must(t, l.Close())
	public, err := x509.MarshalPKIXPublicKey(private.Public())
	must(t, err)
	return public
}
