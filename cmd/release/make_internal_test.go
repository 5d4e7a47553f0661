package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/payload"

	"github.com/axle-cd/axle/internal/componentlist"
	"github.com/axle-cd/axle/internal/release"
)

// root is the root of the repository.
const root = "../.."

// checkout makes a small repository in the shape of ours: programs of a few lines, which
// link one library, with our lock, packaging and license.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "LICENSE", lockFile} {
		write(name, read(t, filepath.Join(root, name)))
	}
	if err := os.CopyFS(filepath.Join(dir, packaging), os.DirFS(filepath.Join(root, packaging))); err != nil {
		t.Fatal(err)
	}
	write("internal/buildinfo/buildinfo.go", "package buildinfo\n\nvar Version, ReleaseKey string\n")
	for _, name := range (target{os: "linux"}).programs() {
		write("cmd/"+name+"/main.go", `package main

import (
	"fmt"

	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/google/go-cmp/cmp"
)

func main() { fmt.Println("`+name+`", buildinfo.Version, cmp.Equal(1, 1)) }
`)
	}
	write("deploy/crds/things.yaml", "kind: CustomResourceDefinition\n")
	write("deploy/charts/thing/Chart.yaml", "apiVersion: v2\nname: thing\nversion: 0.1.0-dev\n")
	write("deploy/charts/thing/values.yaml", "image: {registry: ghcr.io}\n")
	write("deploy/charts/thing/values.schema.json", "{}\n")
	write("deploy/charts/thing/README.md", "a chart\n")
	write("deploy/charts/thing/templates/thing.yaml", "kind: ConfigMap\n")
	write("tools/capi/go.mod", "module github.com/axle-cd/axle/tools/capi\n\ngo 1.26.0\n")
	write("tools/capi/main.go", `package main

import (
	"os"
	"path/filepath"
)

func main() {
	dir := os.Args[3]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "core.yaml"), []byte("kind: Namespace\n"), 0o644); err != nil {
		panic(err)
	}
}
`)
	write("deploy/"+componentlist.Path, digest.FromString("kind: Namespace\n").Encoded()+" 16 core v1.2.3 core-system registry.example.com/core -\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func newKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := cryptoutils.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "release.key")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// run makes a release and returns what the command prints.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := makeCommand()
	c.SetArgs(append([]string{"--packager", filepath.Join(root, "tools", "nfpm.mod")}, args...))
	c.SetOut(&out)
	c.SetErr(io.Discard)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// TestRelease makes a release twice, in two checkouts and under different settings of
// the machine, and looks at everything that is in it. make soak does it with this tree
// for all targets.
func TestRelease(t *testing.T) {
	one := checkout(t)
	another, key := filepath.Join(t.TempDir(), "elsewhere"), newKey(t)
	if err := os.CopyFS(another, os.DirFS(one)); err != nil {
		t.Fatal(err)
	}
	targets := "linux/amd64,linux/arm64,darwin/arm64"
	if os.Getenv("AXLE_SOAK") != "" {
		one, targets = clone(t, root), ""
		another = clone(t, one) // not of root, which may get a commit meanwhile
	} else { // to compress was a third of the processor time
		packing = gzip.BestSpeed
		t.Cleanup(func() { packing = gzip.DefaultCompression })
	}
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	args := []string{"--key", key, "--unsoaked", "--version", "v1.4.2", "--targets", targets}
	list, err := run(t, append(args, "--source", one, "--out", first)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("GOFLAGS", "-tags=other")
	t.Setenv("GOAMD64", "v3")
	t.Setenv("CGO_ENABLED", "1")
	again, err := run(t, append(args, "--source", another, "--out", second)...)
	if err != nil {
		t.Fatal(err)
	}
	if list != again {
		t.Errorf("two builds differ:\n%s\nand\n%s", list, again)
	}
	for _, want := range []string{"axle-cd/axle-hub:1.4.2", "axle-cd/charts/", "axle-cd/cluster-api:1.4.2", "axle_1.4.2_darwin_arm64.tar.gz", "axle-hub_1.4.2_arm64.rpm", "axle-render-rare_1.4.2_linux_arm64.spdx.json", "install.sh", "axle.rb"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %s:\n%s", want, list)
		}
	}
	for _, f := range glob(t, first, "files/*") {
		if name := filepath.Base(f); !strings.HasSuffix(name, ".sig") && name != "provenance.intoto.jsonl" && read(t, f) != read(t, filepath.Join(second, "files", name)) {
			t.Errorf("%s differs between two builds", name)
		}
	}
	chosen, err := parseTargets(targets)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("signatures", func(t *testing.T) {
		checkSignatures(t, first, len(images)+len(glob(t, one, "deploy/charts/*/Chart.yaml"))+2)
	})
	t.Run("images", func(t *testing.T) { checkImages(t, first) })
	t.Run("cosign", func(t *testing.T) { checkCosign(t, first) })
	t.Run("bills", func(t *testing.T) { checkBills(t, first, chosen) })
	t.Run("packages", func(t *testing.T) { checkPackages(t, first) })
	t.Run("formula", func(t *testing.T) { checkFormula(t, first) })
	t.Run("install", func(t *testing.T) { checkInstall(t, first) })
}

// clone is a clean checkout of this tree's commit, with its documentation built.
func clone(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	for _, args := range [][]string{{"git", "clone", "--quiet", "--no-local", from, dir}, {"make", "--no-print-directory", "-C", dir, "docs"}} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return files
}

// blob reads a blob of the layout as JSON.
func blob(t *testing.T, dir string, d ocispec.Descriptor, into any) []byte {
	t.Helper()
	data := read(t, filepath.Join(dir, "oci", "blobs", "sha256", d.Digest.Encoded()))
	if into != nil {
		if err := json.Unmarshal([]byte(data), into); err != nil {
			t.Fatal(err)
		}
	}
	return []byte(data)
}

// names are the manifests of the layout by name.
func names(t *testing.T, dir string) map[string]ocispec.Descriptor {
	t.Helper()
	var index ocispec.Index
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "oci", "index.json"))), &index); err != nil {
		t.Fatal(err)
	}
	out := map[string]ocispec.Descriptor{}
	for _, m := range index.Manifests {
		out[m.Annotations[ocispec.AnnotationRefName]] = m
	}
	return out
}

// checkSignatures verifies everything that is signed with sigstore's own library.
func checkSignatures(t *testing.T, dir string, artifacts int) {
	public, err := cryptoutils.UnmarshalPEMToPublicKey([]byte(read(t, filepath.Join(dir, "files", "release.pub"))))
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := signature.LoadVerifier(public, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range glob(t, dir, "files/*") {
		name := filepath.Base(f)
		if strings.HasSuffix(name, ".sig") || name == "release.pub" || name == "provenance.intoto.jsonl" {
			continue
		}
		sig := base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.TrimSpace(read(t, f+".sig"))))
		if err := verifier.VerifySignature(sig, strings.NewReader(read(t, f))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	envelopes := dsse.WrapVerifier(verifier)
	if err := envelopes.VerifySignature(strings.NewReader(read(t, filepath.Join(dir, "files", "provenance.intoto.jsonl"))), nil); err != nil {
		t.Errorf("provenance: %v", err)
	}
	all := names(t, dir)
	signed := 0
	for name, d := range all {
		if strings.HasSuffix(name, ".sig") || strings.HasSuffix(name, ".att") {
			continue
		}
		signed++
		repository, tag, _ := strings.Cut(name, ":")
		a := release.Artifact{Repository: repository, Tag: tag, Digest: d.Digest}
		var m ocispec.Manifest
		blob(t, dir, all[a.Beside("sig")], &m)
		message := blob(t, dir, m.Layers[0], nil)
		sig, err := base64.StdEncoding.DecodeString(m.Layers[0].Annotations["dev.cosignproject.cosign/signature"])
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.VerifySignature(bytes.NewReader(sig), bytes.NewReader(message)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var says payload.Cosign
		if err := json.Unmarshal(message, &says); err != nil || says.Image.DigestStr() != d.Digest.String() {
			t.Errorf("%s: the signature is over %v, want %s: %v", name, says.Image, d.Digest, err)
		}
		if att, ok := all[a.Beside("att")]; ok {
			var m ocispec.Manifest
			blob(t, dir, att, &m)
			for _, l := range m.Layers {
				if err := envelopes.VerifySignature(bytes.NewReader(blob(t, dir, l, nil)), nil); err != nil {
					t.Errorf("%s: %s: %v", name, l.Annotations["predicateType"], err)
				}
			}
		} else if !strings.HasPrefix(repository, "axle-cd/charts/") && repository != release.Components && repository != release.Repository {
			t.Errorf("%s has no attestations", name)
		}
	}
	if signed != artifacts {
		t.Errorf("%d artifacts are signed, want %d: images, charts, components and the release", signed, artifacts)
	}
}

// checkBills compares each list of components with what the program itself says, and
// that of each image with its programs.
func checkBills(t *testing.T, dir string, targets []target) {
	checked, want := 0, 0
	inImages := map[string][]string{} // by image
	for _, target := range targets {
		want += len(target.programs()) - 1 // the Terraform provider is in no image
		for _, i := range images {
			if !slices.Contains(target.programs(), i.name) {
				continue
			}
			platform := "1.4.2_" + target.os + "_" + target.arch
			inside := unpack(t, filepath.Join(dir, "files", i.name+"_"+platform+".tar.gz"))
			for _, name := range i.programs {
				modules := modulesOf(t, inside[name], target)
				if got := locators(t, filepath.Join(dir, "files", name+"_"+platform+".spdx.json")); !slices.Equal(got, modules) || len(modules) < 2 {
					t.Errorf("%s for %s: the list has %v, the program %v", name, target, got, modules)
				}
				if target.os == "linux" {
					inImages[i.name] = append(inImages[i.name], modules...)
				}
				checked++
			}
		}
	}
	if checked != want {
		t.Errorf("compared %d programs, want %d", checked, want)
	}
	for _, i := range images {
		all := locators(t, filepath.Join(dir, "files", i.name+"_1.4.2_image.spdx.json"))
		kind := func(prefix string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(l string) bool { return !strings.HasPrefix(l, prefix) })
		}
		modules := inImages[i.name]
		slices.Sort(modules)
		if got, want := kind("pkg:golang/"), slices.Compact(modules); !slices.Equal(got, want) {
			t.Errorf("the image %s lists the modules %v, its programs have %v", i.name, got, want)
		}
		lock := read(t, filepath.Join(root, lockFile))
		debs := strings.Count(lock, "\npackage ")
		if i.packages != nil {
			debs = 0
			for _, name := range i.packages {
				debs += strings.Count(lock, " "+name+" ") - 1 // the line of what was wanted
			}
		}
		if got := len(kind("pkg:deb/")); got != debs {
			t.Errorf("the image %s lists %d packages of Debian, want %d", i.name, got, debs)
		}
	}
}

// modulesOf is what a program says that it was linked from, as locators.
func modulesOf(t *testing.T, program []byte, want target) []string {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	if setting["GOOS"] != want.os || setting["GOARCH"] != want.arch || setting["CGO_ENABLED"] != "0" {
		t.Errorf("a program for %s was built for %s/%s, cgo %s", want, setting["GOOS"], setting["GOARCH"], setting["CGO_ENABLED"])
	}
	modules := []string{"pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		modules = append(modules, "pkg:golang/"+d.Path+"@"+d.Version)
	}
	slices.Sort(modules)
	return modules
}

func locators(t *testing.T, file string) []string {
	t.Helper()
	var doc spdx
	if err := json.Unmarshal([]byte(read(t, file)), &doc); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range doc.Packages {
		for _, r := range p.Refs {
			out = append(out, r.Locator)
		}
	}
	slices.Sort(out)
	return out
}

func unpack(t *testing.T, file string) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if out[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func change(t *testing.T, file string, how func([]byte) []byte) {
	t.Helper()
	if err := os.WriteFile(file, how([]byte(read(t, file))), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestMistakes(t *testing.T) {
	source := checkout(t)
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dirty := checkout(t)
	change(t, filepath.Join(dirty, "LICENSE"), func([]byte) []byte { return nil })
	tests := map[string]struct {
		args []string
		want string
	}{
		"a folder with something else": {[]string{"--source", source, "--out", full}, "is there and is no release"},
		"changes without a commit":     {[]string{"--source", dirty, "--out", full + "/x"}, "changes that no commit has"},
		"no version":                   {[]string{"--source", source, "--out", full + "/x", "--version", "new"}, "not a semantic version"},
		"build metadata":               {[]string{"--source", source, "--out", full + "/x", "--version", "1.0.0+a"}, "may have as its tag"},
		"unknown target":               {[]string{"--targets", "linux/386"}, `no target "linux/386"`},
		"no linux":                     {[]string{"--targets", "darwin/arm64"}, "needs a target of linux"},
		"no key":                       {[]string{"--key", "/nowhere/key"}, "/nowhere/key"},
		"no run of make soak":          {[]string{"--source", source, "--out", full + "/x", "--key", newKey(t)}, "soak is due: no run is recorded in test/soak-record.txt"},
		"no program for the service":   {[]string{"--key", "examplekms://key"}, "examplekms://key"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := run(t, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if read(t, filepath.Join(full, "thesis.txt")) != "" || len(glob(t, full, "*")) != 1 {
		t.Error("a refused release touched the folder")
	}
}
