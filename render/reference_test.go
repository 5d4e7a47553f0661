package render_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/render/rendertest"
)

var updateGoldens = flag.Bool("update", false, "let the real helm and kustomize write the goldens anew")

// fetchModules returns the folder of each unpacked module, verified against its
// checksum.
func fetchModules(t testing.TB, modules []goldenModule) map[string]string {
	t.Helper()
	arguments := []string{"mod", "download", "-json"}
	sums := map[string]string{}
	for _, m := range modules {
		arguments = append(arguments, m.Module+"@"+m.Version)
		sums[m.Module] = m.Sum
	}
	command := exec.CommandContext(t.Context(), "go", arguments...)
	// Outside any module: what these need themselves is of no interest.
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go mod download: %v; the charts and kustomizations of the goldens come as Go modules from the module proxy\n%s", err, out)
	}
	dirs := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir, Sum, Error string }
		if err := decoder.Decode(&m); err == io.EOF {
			return dirs
		} else if err != nil {
			t.Fatal(err)
		}
		if m.Sum != sums[m.Path] {
			t.Fatalf("%s has the checksum %s, cases.yaml says %s", m.Path, m.Sum, sums[m.Path])
		}
		dirs[m.Path] = m.Dir
	}
}

// reference are the real commands.
type reference struct{ bin string }

// buildReference builds helm and kustomize in their own module.
func buildReference(t testing.TB) reference {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "bin")
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", bin+"/", "tool")
	command.Dir = goldens
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build helm and kustomize: %v\n%s", err, out)
	}
	return reference{bin}
}

// write runs the real command for every variant of a case and stores its output, or
// that it failed.
func (r reference) write(t *testing.T, c goldenCase, files rendertest.Files) {
	t.Helper()
	dir := onDisk(t, files)
	var archive txtar.Archive
	for _, v := range c.variants(t, files) {
		text := r.run(t, dir, c, v)
		archive.Files = append(archive.Files, txtar.File{Name: v.name, Data: text})
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	target := filepath.Join(goldens, "testdata", c.Name+goldenFileSuffix)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target, encoder.EncodeAll(txtar.Format(&archive), nil), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (r reference) run(t *testing.T, dir string, c goldenCase, v variant) []byte {
	t.Helper()
	name, arguments := "kustomize", []string{"build", "--load-restrictor", "LoadRestrictionsNone", filepath.Join(dir, v.folder)}
	if c.EnableHelm {
		arguments = append(arguments, "--enable-helm", "--helm-command", filepath.Join(r.bin, "helm"))
	}
	if c.Helm != "" {
		name = "helm"
		arguments = []string{"template", goldenRelease, filepath.Join(dir, chartFolder), "--namespace", goldenNamespace,
			"--include-crds", "--kube-version", goldenKubernetes}
		if c.Upgrade {
			arguments = append(arguments, "--is-upgrade")
		}
		for _, version := range c.APIVersions {
			arguments = append(arguments, "--api-versions", version)
		}
		if v.file != "" {
			arguments = append(arguments, "--values", filepath.Join(dir, chartFolder, v.file))
		}
		if v.values != nil {
			text, err := yaml.Marshal(v.values)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			arguments = append(arguments, "--values", file)
		}
	}
	command := exec.CommandContext(t.Context(), filepath.Join(r.bin, name), arguments...)
	home := t.TempDir()
	command.Env = []string{"HOME=" + home, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home}
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		said := strings.ReplaceAll(failure.String(), dir+string(filepath.Separator), "")
		return []byte(referenceFailed + ": " + said)
	}
	return out
}
