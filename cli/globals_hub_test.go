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

// TestGlobalServices is docs/global-services.md, on a real hub that fetches from a
// real repository.
func TestGlobalServices(t *testing.T) {
	for name, config := range map[string]func() hubtest.HubConfig{
		"sqlite": func() hubtest.HubConfig { return hubtest.HubConfig{AllowHTTPUpstreams: true} },
		"postgres": func() hubtest.HubConfig {
			return hubtest.HubConfig{AllowHTTPUpstreams: true, DatabaseURL: hubtest.Postgres(t), KeyFile: filepath.Join(t.TempDir(), "hub.key")}
		},
	} {
		t.Run(name, func(t *testing.T) { globalServices(t, config()) })
	}
}

func globalServices(t *testing.T, config hubtest.HubConfig) {
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	commit := func(text string) {
		t.Helper()
		if _, err := git.Commit(t.Context(), "fleet", "main", "web "+text, map[string]gitserver.Content{"web/web.yaml": text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	commit("# one")
	h := hubtest.New(t, hubtest.Config{Hub: config})
	dir := t.TempDir()
	t.Setenv("AXLE_CONFIG", filepath.Join(dir, "config.yaml"))
	t.Setenv("AXLE_HUB_URL", h.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	run := func(words ...string) (code int, text string) {
		var stdout, stderr bytes.Buffer
		code = cli.Run(t.Context(), words, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		return code, stdout.String() + stderr.String()
	}
	says := func(line, want string) {
		t.Helper()
		eventually.For(t, 30*time.Second, "axle "+line+" says "+want, func() error {
			if code, text := run(strings.Fields(line)...); code != 0 || !strings.Contains(text, want) {
				return fmt.Errorf("exit %d: %s", code, text)
			}
			return nil
		})
	}
	does := func(line string, want ...string) {
		t.Helper()
		code, text := run(strings.Fields(line)...)
		for _, one := range want {
			if !strings.Contains(text, one) {
				t.Errorf("axle %s does not say %q: %s", line, one, text)
			}
		}
		if code != 0 {
			t.Fatalf("axle %s: exit %d: %s", line, code, text)
		}
	}
	does("repos add fleet " + git.URL("fleet"))
	does("clusters create edge-1 --tag tier=edge")
	does("clusters create lab-1 --tag tier=lab")

	does("globalservices create web --tag tier=edge --repo fleet --ref main --folder web --dry-run", "created", "dry run")
	does("globalservices create web --tag tier=edge --repo fleet --ref main --folder web", "created")
	says("services get edge-1/web -o jsonpath={.revision}", "1")
	does("clusters create edge-2 --tag tier=edge")
	says("services get edge-2/web -o jsonpath={.revision}", "1")
	does("services list -q --managed-by hub", "edge-1/web\nedge-2/web\n")
	says("globalservices get web", "0 of 2 services ready")
	if code, text := run("services", "update", "edge-1/web", "--ref", "v2", "--timeout", "0"); code == 0 || !strings.Contains(text, "is managed by the hub") {
		t.Errorf("a target was changed: %s", text)
	}

	// A commit moves all of them to one revision.
	commit("# two")
	does("repos refresh fleet")
	for _, cluster := range []string{"edge-1", "edge-2"} {
		says("services get "+cluster+"/web -o jsonpath={.revision}", "2")
	}

	// A change in waves. Nobody waits for clusters without an agent.
	if code, text := run("rollouts", "get", "web"); code == 0 || !strings.Contains(text, "was rolled out in waves") {
		t.Errorf("a rollout before there was one: %s", text)
	}
	if code, text := run("globalservices", "apply", "web", "--repo", "fleet", "--ref", "main", "--soak", "1m"); code != 2 || !strings.Contains(text, "--wave") {
		t.Errorf("a soak time without waves: exit %d: %s", code, text)
	}
	waves := "globalservices apply web --tag tier=edge --repo fleet --ref main --folder web --wave 1,100% --soak 1s --var color="
	does(waves+"red", "updated", "1, 100%")
	says("rollouts get web", "Done")
	does("rollouts get web -o jsonpath={.states.Absent}", "2")
	does("rollouts list", "")
	does("rollouts list --all", "web", "Done")
	if code, text := run("rollouts", "pause", "web"); code == 0 || !strings.Contains(text, "no rollout of global service web runs") {
		t.Errorf("a rollout that is done is paused: %s", text)
	}
	says("services get edge-2/web -o jsonpath={.revision}", "3")

	// The same in Git, which the set then manages.
	file := filepath.Join(dir, "web.yaml")
	manifest := "apiVersion: deployments.plural.sh/v1alpha1\nkind: GlobalService\nmetadata: {name: all, namespace: infra}\nspec:\n  tags: {tier: edge}\n  cascade: {delete: true}\n" +
		"  template:\n    name: web\n    namespace: web\n    repositoryRef: {name: fleet}\n    git: {ref: main, folder: web}\n    configuration: {color: blue}\n"
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := run("globalservices", "create", "web", "--repo", "fleet", "--ref", "main"); code == 0 || !strings.Contains(text, "exists already") {
		t.Errorf("created twice: %s", text)
	}
	does("apply -f "+file+" --set fleet --take-over", "GlobalService", "updated")
	does("apply -f "+file+" --set fleet", "unchanged")
	says("services get edge-2/web -o jsonpath={.revision}", "4")
	does("globalservices list", "web", "tier=edge", "delete")
	does("globalservices get web -o jsonpath={.managedBy.id}", "fleet")

	// A cluster that is not selected any more, without an agent: its row goes.
	does("clusters update edge-1 --tag tier=lab")
	says("services list -q", "edge-2/web\n")

	// The set no longer declares it.
	if err := os.WriteFile(file, []byte("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	does("apply -f "+file+" --set fleet --prune", "GlobalService", "deleting")
	eventually.For(t, 30*time.Second, "it is gone with its services", func() error {
		for _, line := range []string{"globalservices list -q", "services list -q"} {
			if code, text := run(strings.Fields(line)...); code != 0 || text != "" {
				return fmt.Errorf("axle %s: exit %d: %s", line, code, text)
			}
		}
		return nil
	})
}
