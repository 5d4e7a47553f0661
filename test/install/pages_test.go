package install_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/pages"
)

// The pages Install, Upgrade and Uninstall work as they stand: their commands run in order, with
// this machine's address, mail and values.
func TestPagesRunAsTheyStand(t *testing.T) {
	sideBySide(t)
	b := newBed(t)
	values, err := os.ReadFile(b.values)
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "values.yaml"), values, 0o600))
	for _, page := range []string{"install/small", "howto/upgrade", "install/uninstall"} {
		blocks, err := pages.Script("../../docs/" + page + ".md")
		must(t, err)
		if len(blocks) < 2 {
			t.Errorf("the page %s has %d blocks", page, len(blocks))
		}
		for _, block := range blocks {
			b.shell(dir, page, block, "https://axle.example.com", b.url)
		}
	}
}

// The page about the shape ha works as it stands, with its values: only the addresses of
// database and hub are the test's. The front stands for nginx and its certificate: an
// ingress class and an issuer of these names are there, but nobody acts on them.
func TestThePageInstallHA(t *testing.T) {
	sideBySide(t)
	const page = "install/ha"
	h := beginHA(t, "localhost")
	client, err := kubernetes.NewForConfig(h.Config())
	must(t, err)
	ingressClass(t, client, "nginx")
	h.certManager("letsencrypt")
	shown, err := pages.Blocks("../../docs/"+page+".md", "yaml")
	must(t, err)
	blocks, err := pages.Script("../../docs/" + page + ".md")
	must(t, err)
	if len(shown) != 1 || len(blocks) != 2 {
		t.Fatalf("%d values, %d blocks", len(shown), len(blocks))
	}
	machine, err := os.ReadFile(h.values)
	must(t, err)
	own, values := map[string]any{}, map[string]any{}
	must(t, yaml.Unmarshal(machine, &own))
	must(t, yaml.Unmarshal([]byte(strings.ReplaceAll(shown[0].Text, "https://axle.example.com", h.url)), &values))
	for _, name := range []string{"shape", "database"} { // the page's own alone count
		delete(own, name)
	}
	text, err := yaml.Marshal(merged(own, values))
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "values.yaml"), text, 0o600))

	h.shell(dir, page, blocks[0], "postgres://axle:PASSWORD@db.example.com:5432/axle", h.database)
	h.trust()
	if out := h.shell(dir, page, blocks[1], "", ""); !strings.Contains(out, "Axle is at "+h.url) {
		t.Errorf("it ends with %s", out)
	}
	h.replicasAre(buildinfo.Version)
	if have := h.kubectl("-n", "axle", "get", "ingress", "axle", "-o", `jsonpath={.spec.ingressClassName} {.metadata.annotations.cert-manager\.io/cluster-issuer} {.spec.rules[0].host}`); have != "nginx letsencrypt localhost" {
		t.Errorf("the Ingress is %s", have)
	}
	//rest: the installation ends when its cluster is there
	if have := h.must("clusters", "list"); !strings.Contains(have, "mgmt") {
		t.Errorf("clusters: %s", have)
	}
}

// merged lays values over others.
func merged(below, above map[string]any) map[string]any {
	for name, value := range above {
		inner, ok := below[name].(map[string]any)
		if over, both := value.(map[string]any); ok && both {
			value = merged(inner, over)
		}
		below[name] = value
	}
	return below
}

// certManager makes the kinds of cert-manager, without cert-manager, and an issuer that
// is ready.
func (b *bed) certManager(issuer string) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "cert-manager.yaml")
	var kinds strings.Builder
	for kind, scope := range map[string]string{"ClusterIssuer": "Cluster", "Certificate": "Namespaced"} {
		name := strings.ToLower(kind)
		fmt.Fprintf(&kinds, `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]ss.cert-manager.io}
spec:
  group: cert-manager.io
  scope: %[3]s
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]ss, singular: %[2]s}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, kind, name, scope)
	}
	must(b.t, os.WriteFile(file, []byte(kinds.String()), 0o600))
	b.kubectl("apply", "-f", file)
	b.kubectl("wait", "--for=condition=Established", "--timeout=5m", "crd/clusterissuers.cert-manager.io", "crd/certificates.cert-manager.io")
	must(b.t, os.WriteFile(file, []byte("apiVersion: cert-manager.io/v1\nkind: ClusterIssuer\nmetadata: {name: "+issuer+"}\nstatus: {conditions: [{type: Ready, status: 'True'}]}\n"), 0o600))
	b.kubectl("apply", "-f", file)
}

// shell runs a block of a page in a folder, with some text of it replaced.
func (b *bed) shell(dir, page string, block pages.Block, old, replacement string) string {
	b.t.Helper()
	program, err := bin.Path(b.t.Context(), "axle", bin.Options{})
	must(b.t, err)
	path := filepath.Dir(program) + ":" + filepath.Dir(helmProgram(b.t)) + ":" + os.Getenv("PATH")
	ctx, cancel := context.WithTimeout(b.t.Context(), limit)
	defer cancel()
	text := block.Text
	if old != "" {
		text = strings.ReplaceAll(text, old, replacement)
	}
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", text)
	command.Dir = dir
	command.Env = b.env("KUBECONFIG="+b.Kubeconfig(), "PATH="+path)
	out, err := command.CombinedOutput()
	b.t.Logf("%s:%d\n%s\n%s", page, block.Line, block.Text, out)
	if err != nil {
		b.t.Fatalf("%s.md:%d: %v\n%s\n%s", page, block.Line, err, block.Text, out)
	}
	return string(out)
}
