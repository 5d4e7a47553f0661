package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/hub/hubtest"
)

// TestSetsOfApply is the section on sets of docs/management.md, on a real hub.
func TestSetsOfApply(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	dir := t.TempDir()
	t.Setenv("AXLE_CONFIG", filepath.Join(dir, "config.yaml"))
	t.Setenv("AXLE_HUB_URL", h.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	run := func(line string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = cli.Run(t.Context(), strings.Fields(line), cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		return code, stdout.String(), stderr.String()
	}
	does := func(line string, want ...string) {
		t.Helper()
		code, out, errs := run(line)
		for _, text := range want {
			if !strings.Contains(out+errs, text) {
				t.Errorf("axle %s does not say %q:\n%s%s", line, text, out, errs)
			}
		}
		if code != 0 {
			t.Fatalf("axle %s: exit %d: %s%s", line, code, out, errs)
		}
	}
	fails := func(line string, want ...string) {
		t.Helper()
		code, out, errs := run(line)
		for _, text := range want {
			if !strings.Contains(out+errs, text) {
				t.Errorf("axle %s does not say %q:\n%s%s", line, text, out, errs)
			}
		}
		if code == 0 {
			t.Fatalf("axle %s: exit 0: %s%s", line, out, errs)
		}
	}
	names := func(line, want string) {
		t.Helper()
		if code, out, errs := run(line); code != 0 || out != want {
			t.Errorf("axle %s: %q, want %q (%s)", line, out, want, errs)
		}
	}
	const group = "apiVersion: deployments.plural.sh/v1alpha1\n"
	repository := func(name string) string {
		return group + "kind: GitRepository\nmetadata: {name: " + name + "}\nspec: {url: https://git.invalid/" + name + "}\n---\n"
	}
	service := func(name, folder string) string {
		return group + "kind: ServiceDeployment\nmetadata: {name: " + name + "}\nspec: {cluster: edge-1, repositoryRef: {name: fleet}, git: {ref: main, folder: " + folder + "}}\n---\n"
	}
	file := filepath.Join(dir, "fleet.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	does("clusters create edge-1")
	does("repos add mine https://git.invalid/mine --timeout 0")

	const project = group + "kind: Project\nmetadata: {name: shop}\nspec: {name: shop}\n---\n"
	const facts = group + "kind: ServiceContext\nmetadata: {name: facts}\nspec: {configuration: {size: 3}}\n---\n"
	write(repository("fleet") + repository("spare") + service("web", "web") + service("old", "old") + project + facts)
	does("apply -f " + file + " --set fleet")
	names("services list -q --managed-by apply", "edge-1/old\nedge-1/web\n")
	names("services get edge-1/web -o jsonpath={.managedBy.id}", "fleet\n")
	fails("services delete edge-1/web --timeout 0", "managed by axle apply (set fleet)")
	write(service("web", "changed"))
	fails("apply -f "+file, "managed by axle apply (set fleet)")
	fails("projects update shop --description other", "managed by axle apply (set fleet)")
	fails("servicecontexts set facts size=4", "managed by axle apply (set fleet)")
	names("projects list -q --managed-by apply", "shop\n")
	names("servicecontexts list -q --managed-by apply", "facts\n")
	fails("apply -f "+file+" --set other", "managed by axle apply (set fleet)")

	// Nothing is deleted without a set, after a failure, or by files that declare nothing.
	fails("apply -f "+file+" --prune", "--prune needs --set")
	fails("apply -f "+file+" --set other --prune", "nothing is pruned")
	write("# nothing\n")
	fails("apply -f "+file+" --set fleet --prune", "nothing was deleted")
	names("repos list -q", "fleet\nmine\nspare\n")

	// What another set has stays, and so does what people made.
	write(service("theirs", "theirs"))
	does("apply -f " + file + " --set other")
	write(repository("fleet") + service("web", "web"))
	does("apply -f "+file+" --set fleet --prune --dry-run", "edge-1/old", "spare")
	names("repos list -q", "fleet\nmine\nspare\n")
	names("services list -q", "edge-1/old\nedge-1/theirs\nedge-1/web\n")
	does("apply -f "+file+" --set fleet --prune", "edge-1/old", "deleting", "spare", "deleted", "facts", "shop")
	names("projects list -q", "default\n")
	names("servicecontexts list -q", "")
	names("repos list -q", "fleet\nmine\n")
	names("services list -q", "edge-1/theirs\nedge-1/web\n")
	does("apply -f "+file+" --set fleet --prune", "unchanged")

	// Another set takes them over, as they are and with their repository.
	does("apply -f " + file + " --set other --take-over")
	names("services get edge-1/web -o jsonpath={.managedBy.id}", "other\n")
	names("repos get fleet -o jsonpath={.managedBy.id}", "other\n")

	// People take over what they need, as it is.
	write(project + facts)
	does("apply -f " + file + " --set fleet")
	does("projects update shop --take-over")
	does("servicecontexts set facts --take-over")
	names("projects get shop -o jsonpath={.managedBy.tool}", "cli\n")
	names("servicecontexts get facts -o jsonpath={.managedBy.tool}", "cli\n")
	does("clusters update edge-1 --take-over --tag tier=edge")
}
