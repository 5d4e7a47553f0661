package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestManagedNamespaces is docs/namespaces.md, on a real hub with a real repository.
func TestManagedNamespaces(t *testing.T) {
	for name, config := range map[string]func() hubtest.HubConfig{
		"sqlite": func() hubtest.HubConfig { return hubtest.HubConfig{AllowHTTPUpstreams: true} },
		"postgres": func() hubtest.HubConfig {
			return hubtest.HubConfig{AllowHTTPUpstreams: true, DatabaseURL: hubtest.Postgres(t), KeyFile: filepath.Join(t.TempDir(), "hub.key")}
		},
	} {
		t.Run(name, func(t *testing.T) { managedNamespaces(t, config()) })
	}
}

// patience is for a loaded machine with cold caches.
const patience = 2 * time.Minute

// axleCLI runs the CLI against a hub.
type axleCLI struct{ *testing.T }

func (t axleCLI) run(words ...string) (code int, text string) {
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), words, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String() + stderr.String()
}

// does runs a command that works and says some words.
func (t axleCLI) does(line string, want ...string) {
	t.Helper()
	code, text := t.run(strings.Fields(line)...)
	for _, one := range want {
		if !strings.Contains(text, one) {
			t.Errorf("axle %s does not say %q: %s", line, one, text)
		}
	}
	if code != 0 {
		t.Fatalf("axle %s: exit %d: %s", line, code, text)
	}
}

// fails runs a command that fails and says why.
func (t axleCLI) fails(line, want string) {
	t.Helper()
	if code, text := t.run(strings.Fields(line)...); code == 0 || !strings.Contains(text, want) {
		t.Errorf("axle %s: exit %d, want one that says %q: %s", line, code, want, text)
	}
}

// says waits until a command says some words.
func (t axleCLI) says(line, want string) {
	t.Helper()
	eventually.For(t, patience, "axle "+line+" says "+want, func() error {
		if code, text := t.run(strings.Fields(line)...); code != 0 || !strings.Contains(text, want) {
			return fmt.Errorf("exit %d: %s", code, text)
		}
		return nil
	})
}

func managedNamespaces(t *testing.T, config hubtest.HubConfig) {
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	if _, err := git.Commit(t.Context(), "fleet", "main", "base", map[string]gitserver.Content{"base/base.yaml": "# one"}); err != nil {
		t.Fatal(err)
	}
	h := hubtest.New(t, hubtest.Config{Hub: config})
	dir := t.TempDir()
	t.Setenv("AXLE_CONFIG", filepath.Join(dir, "config.yaml"))
	t.Setenv("AXLE_HUB_URL", h.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	x := axleCLI{t}
	x.does("repos add fleet " + git.URL("fleet"))
	x.does("clusters create edge-1 --tag tier=edge")
	x.does("clusters create lab-1 --tag tier=lab")

	x.does("namespaces create shop --tag tier=edge --label team=web --dry-run", "created", "dry run")
	x.fails("namespaces get shop", "does not exist")
	x.does("namespaces create shop --tag tier=edge --label team=web --pull-secret registry", "created")
	x.fails("namespaces create shop", "exists already")
	x.says("services get edge-1/shop-ns -o jsonpath={.revision}", "1")
	x.does("services list -q", "edge-1/shop-ns\n")
	x.says("namespaces get shop", "0 of 1 cluster ready")
	x.does("namespaces list", "shop", "tier=edge")

	// Its parts are not changed by themselves.
	x.does("globalservices list -q", "")
	x.fails("globalservices apply shop-ns --repo fleet --ref main", "is a part of the managed namespace shop")
	x.fails("globalservices delete shop-ns --yes", "is a part of the managed namespace shop")
	x.fails("services delete edge-1/shop-ns --yes", "is managed by the hub")

	// A service in it, which waits for the namespace and makes none.
	x.does("namespaces update shop --repo fleet --ref main --folder base", "updated")
	x.says("services get edge-1/shop-core -o jsonpath={.revision}", "1")
	x.does("services get edge-1/shop-core -o jsonpath={.namespace}", "shop")
	x.does("namespaces get shop", "team=web", "fleet main base")
	x.does("namespaces update shop --label team=web", "unchanged")

	// What no cluster could have changes nothing.
	x.fails("namespaces update shop --label team=a,b --label x=/", "not a label")
	x.fails("namespaces update shop --label team=new --repo missing --ref main", "no repository")
	x.does("namespaces get shop", "team=web")
	x.fails("namespaces create "+strings.Repeat("a", 59), "at most 58")
	x.fails("namespaces create Shop_1", "is not a name")
	x.fails("services create lab-1/sly --ref main --folder x --repo hub:namespace", "no repository")

	// A project has its limits.
	x.does("projects create edge --allow-namespace edge-*")
	x.fails("namespaces create edge-a --project edge", "belongs to the whole cluster")
	x.does("projects update edge --cluster-scoped")
	x.fails("namespaces create shop-b --project edge", "is not one that project edge may use")
	x.does("namespaces create edge-a --project edge", "created")

	// In Git, which the set then manages.
	file := filepath.Join(dir, "shop.yaml")
	manifest := "apiVersion: deployments.plural.sh/v1alpha1\nkind: ManagedNamespace\nmetadata: {name: shop, namespace: infra}\nspec:\n  description: The shop\n  labels: {team: web}\n" +
		"  target: {tags: {tier: edge}}\n  cascade: {delete: true}\n"
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	x.does("apply -f "+file+" --set fleet --take-over", "ManagedNamespace", "updated")
	x.does("apply -f "+file+" --set fleet", "unchanged")
	x.says("services list -q", "edge-1/shop-ns\n")
	x.says("namespaces get shop -o jsonpath={.serviceState}", "")
	x.fails("namespaces update shop --label team=other", "is managed by axle apply")
	x.fails("namespaces delete shop --yes", "is managed by axle apply")
	x.does("namespaces get shop", "The shop", "delete", "apply fleet")

	// A cluster that is not selected any more, without an agent: its row goes.
	x.does("clusters update edge-1 --tag tier=lab")
	eventually.For(t, patience, "no target", func() error {
		if _, text := x.run("services", "list", "-q"); text != "" {
			return fmt.Errorf("has %s", text)
		}
		return nil
	})

	// The set no longer declares it.
	other := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(other, []byte(strings.ReplaceAll(manifest, "name: shop,", "name: other,")), 0o600); err != nil {
		t.Fatal(err)
	}
	x.does("apply -f "+other+" --set fleet --prune", "ManagedNamespace", "deleting")
	eventually.For(t, patience, "shop is gone", func() error {
		if code, text := x.run("namespaces", "get", "shop"); code == 0 {
			return fmt.Errorf("shows %s", text)
		}
		return nil
	})
	x.does("namespaces create shop --repo fleet --ref main --folder base", "created")
}
