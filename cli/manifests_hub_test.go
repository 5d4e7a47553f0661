package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/hub/hubtest"
)

// shell runs the command against a hub of its own.
type shell struct {
	*testing.T
	dir string
	hub *hubtest.Hub
}

func newShell(t *testing.T) *shell {
	t.Helper()
	return shellOf(t, hubtest.New(t, hubtest.Config{}))
}

// shellOf is one whose commands ask the hub, as its administrator.
func shellOf(t *testing.T, h *hubtest.Hub) *shell {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("AXLE_CONFIG", filepath.Join(dir, "config.yaml"))
	t.Setenv("AXLE_HUB_URL", h.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	return &shell{t, dir, h}
}

func (s *shell) run(line string) (code int, out, errs string) {
	return s.runs(strings.Fields(line)...)
}

func (s *shell) runs(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = cli.Run(s.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

// exits runs a command line, and checks its exit code and what it says.
func (s *shell) exits(want int, line string, says ...string) string {
	s.Helper()
	code, out, errs := s.run(line)
	if code != want {
		s.Fatalf("axle %s: exit %d, want %d:\n%s%s", line, code, want, out, errs)
	}
	for _, text := range says {
		if !strings.Contains(out+errs, text) {
			s.Errorf("axle %s does not say %q:\n%s%s", line, text, out, errs)
		}
	}
	return out
}

func (s *shell) write(name, text string) string {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
	return path
}

// written are the calls in the audit log that write, without dry runs.
func (s *shell) written() (calls []string) {
	s.Helper()
	var entries []struct {
		Record struct {
			Action string
			Detail map[string]string
		}
	}
	if err := json.Unmarshal([]byte(s.exits(0, "audit list --limit 1000 -o json")), &entries); err != nil {
		s.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(e.Record.Detail["request"], `"dry_run":true`) {
			calls = append(calls, e.Record.Action)
		}
	}
	if len(calls) == 0 {
		s.Error("the audit log has no call that wrote")
	}
	return calls
}

// everyKind declares an object of each kind of files, with fields of all types.
const everyKind = `apiVersion: deployments.plural.sh/v1alpha1
kind: Project
metadata: {name: shop}
spec: {name: shop, description: The shop}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: GitRepository
metadata: {name: fleet}
spec: {url: "https://git.invalid/fleet", credentialsRef: {name: fleet-git, namespace: platform}}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: HelmRepository
metadata: {name: charts, namespace: platform}
spec:
  url: https://charts.invalid
  provider: BASIC
  auth: {basic: {username: robot, passwordSecretRef: {name: fleet-git, namespace: platform}}}
---
apiVersion: v1
kind: Secret
metadata: {name: fleet-git, namespace: platform}
stringData: {username: robot, password: hunter2}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: Cluster
metadata: {name: edge-1, namespace: platform}
spec: {handle: edge-1, tags: {tier: edge, region: eu}, metadata: {domain: e1.example.test, zones: [a, b]}}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: ServiceContext
metadata: {name: facts, namespace: platform}
spec: {configuration: {size: 3, deep: {list: [1, two]}}, secretRef: {name: fleet-git, namespace: platform}}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: GlobalService
metadata: {name: logs, namespace: platform}
spec:
  tags: {tier: none}
  ignoreClusters: [edge-lab]
  cascade: {delete: true}
  context: {raw: {retention: 7d}}
  template: {namespace: logging, repositoryRef: {name: fleet}, git: {ref: main, folder: logs}, configurationRef: {name: fleet-git, namespace: platform}}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: ServiceDeployment
metadata: {name: queue}
spec:
  cluster: edge-1
  helm: {url: "https://charts.invalid", chart: queue, version: 2.x.x, values: {replicas: 3, tolerations: [{key: a}]}, valuesFiles: [queue.yaml]}
  repositoryRef: {name: fleet}
  git: {ref: main, folder: helm}
  configuration: {replicas: "3"}
  configurationRef: {name: fleet-git, namespace: platform}
  contexts: [facts]
  syncConfig: {createNamespace: false, diffNormalizers: [{name: queue, jsonPointers: [/spec/replicas]}]}
`

// TestExportAppliesBackUnchanged is the promise of axle export: what it writes changes
// nothing, for every kind of files, and holds no secret.
func TestExportAppliesBackUnchanged(t *testing.T) {
	s := newShell(t)
	s.exits(0, "clusters create edge-1")
	s.exits(0, "apply -f "+s.write("fleet.yaml", everyKind))

	// The hub compares the secrets of a context, which nobody else can.
	if again := s.exits(0, "apply -f "+filepath.Join(s.dir, "fleet.yaml")+" -o jsonpath={[*].result}"); again != "unchanged updated updated unchanged unchanged unchanged unchanged\n" {
		t.Errorf("the same files again: %s", again)
	}

	out := filepath.Join(s.dir, "out")
	s.exits(0, "export "+out, "7 files written")
	var files []string
	err := filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "hunter2") {
			t.Errorf("%s holds a secret:\n%s", path, data)
		}
		name, _ := filepath.Rel(out, path)
		files = append(files, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"clusters/edge-1/cluster.yaml", "clusters/edge-1/services/queue.yaml", "contexts/facts.yaml", "globalservices/logs.yaml",
		"projects/shop.yaml", "repositories/charts.yaml", "repositories/fleet.yaml",
	}
	if !slices.Equal(files, want) {
		t.Errorf("files %q, want %q", files, want)
	}
	events := s.exits(0, "events -o jsonpath={[*].id}") // as JSON each has an age, which grows
	s.exits(0, "diff -f "+out, "# 7 unchanged")
	var views []struct{ Kind, Name, Result string }
	if err := json.Unmarshal([]byte(s.exits(0, "apply -f "+out+" -o json")), &views); err != nil || len(views) != 7 {
		t.Fatalf("%d objects: %v", len(views), err)
	}
	for _, v := range views {
		if v.Result != "unchanged" {
			t.Errorf("the export changes %s %s: %s", v.Kind, v.Name, v.Result)
		}
	}
	if again := s.exits(0, "events -q -o jsonpath={[*].id}"); again != events {
		t.Errorf("applying the export left events:\n%s", again)
	}
	s.exits(0, "export "+out, "0 files written", "7 unchanged")

	// The same objects, one by one and as one stream.
	stream := s.write("stream.yaml", s.exits(0, "export"))
	s.exits(0, "diff -f "+stream, "# 7 unchanged")
	for _, name := range []string{"project shop", "gitrepository fleet", "helmrepository charts", "cluster edge-1", "context facts", "globalservice logs", "service edge-1/queue"} {
		s.exits(0, "diff -f "+s.write("one.yaml", s.exits(0, "get "+name+" -o yaml")), "# 1 unchanged")
	}
	if names := s.exits(0, "get services -o name"); names != "edge-1/queue\n" {
		t.Errorf("names %q", names)
	}
	s.exits(2, "get nonsense", `"nonsense" is no kind of manifests`)
	s.exits(4, "get service edge-1/none -o yaml")

}

// TestExportReplacesFilesOnlyWithForce, and leaves what it does not know.
func TestExportReplacesFilesOnlyWithForce(t *testing.T) {
	s := newShell(t)
	s.exits(0, "projects create shop --description first")
	out := filepath.Join(s.dir, "out")
	s.exits(0, "export "+out)
	s.exits(0, "projects update shop --description second")
	s.exits(0, "projects create other")
	s.exits(6, "export "+out, "projects/shop.yaml exists with other content; nothing was written")
	if _, err := os.Stat(filepath.Join(out, "projects/other.yaml")); !os.IsNotExist(err) {
		t.Errorf("a refused export wrote a file: %v", err)
	}
	mine := s.write("out/README.md", "mine")
	s.exits(0, "export --force "+out, "2 files written")
	if data, err := os.ReadFile(filepath.Join(out, "projects/shop.yaml")); err != nil || !strings.Contains(string(data), "second") {
		t.Errorf("%v: %s", err, data)
	}
	if data, err := os.ReadFile(mine); err != nil || string(data) != "mine" {
		t.Errorf("the export touched %s: %v %s", mine, err, data)
	}
	s.exits(0, "diff -f "+out, "# 2 unchanged")

	// The files of a cluster stand together, whatever its handle is, and names are names
	// of files.
	s.exits(0, "clusters create north --handle n1")
	s.exits(0, "repos add fleet https://git.invalid/fleet --timeout 0")
	s.exits(0, "services create north/web --repo fleet --ref main --folder web")
	s.exits(0, "export "+out+" --cluster north")
	for _, file := range []string{"clusters/north/cluster.yaml", "clusters/north/services/web.yaml"} {
		if _, err := os.Stat(filepath.Join(out, file)); err != nil {
			t.Error(err)
		}
	}
	s.exits(0, "diff -f "+out, "# 4 unchanged")
}

// TestStoredSecretsAreNotInvented applies an export to a hub that has none of its secrets.
func TestStoredSecretsAreNotInvented(t *testing.T) {
	s := newShell(t)
	s.exits(0, "clusters create edge-1")
	const head = "apiVersion: deployments.plural.sh/v1alpha1\n"
	file := s.write("web.yaml", head+"kind: GitRepository\nmetadata: {name: fleet, annotations: {axle-cd.github.io/stored-secrets: credentials}}\nspec: {url: \"https://git.invalid/fleet\"}\n---\n"+
		head+"kind: ServiceContext\nmetadata: {name: facts, annotations: {axle-cd.github.io/stored-secrets: token}}\nspec: {configuration: {a: 1}}\n---\n"+
		head+"kind: ServiceDeployment\nmetadata: {name: web, annotations: {axle-cd.github.io/stored-secrets: password}}\nspec: {cluster: edge-1, helm: {url: \"https://charts.invalid\", chart: web}}\n")
	for code, line := range map[int]string{1: "apply -f ", 2: "diff -f "} {
		s.exits(code, line+file, `keeps "credentials", which the hub does not have`, `keeps "token"`, `keeps "password"`, "web.yaml:11")
	}
	for _, list := range []string{"repos list -q", "servicecontexts list -q", "services list -q"} {
		if out := s.exits(0, list); out != "" {
			t.Errorf("axle %s: %s", list, out)
		}
	}
}

// fleetOf is a folder with a repository, and a service with a ref and a password.
func fleetOf(ref, password, more string) string {
	return `apiVersion: deployments.plural.sh/v1alpha1
kind: GitRepository
metadata: {name: fleet}
spec: {url: "https://git.invalid/fleet"}
---
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: platform}
stringData: {password: ` + password + `, token: same}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: ServiceDeployment
metadata: {name: web}
spec: {cluster: edge-1, repositoryRef: {name: fleet}, git: {ref: ` + ref + `, folder: web}, configurationRef: {name: web, namespace: platform}}
` + more
}

type planned struct {
	Summary map[string]int
	Objects []struct {
		Kind, Name, Where, Action, Reason string
		Fields                            []struct {
			Path     string
			Old, New any
		}
	}
}

// TestDiffOfManifests is axle diff -f on a real hub: every action, and nothing written.
func TestDiffOfManifests(t *testing.T) {
	s := newShell(t)
	s.exits(0, "clusters create edge-1")
	const service = "---\napiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\n"
	file := s.write("fleet/all.yaml", fleetOf("v1", "first", service+"metadata: {name: old}\nspec: {cluster: edge-1, repositoryRef: {name: fleet}, git: {ref: main, folder: old}}\n"))
	s.exits(1, "diff -f "+file+" --set fleet", "+ create GitRepository/fleet", "+ create ServiceDeployment/edge-1/web", `git.ref: (unset) -> "v1"`, "not checked, its repository is new", "# 3 create, 0 unchanged")
	s.exits(0, "apply -f "+file+" --set fleet")
	s.exits(0, "diff -f "+file+" --set fleet --prune", "# 3 unchanged")
	s.exits(0, "services create edge-1/mine --repo fleet --ref main --folder mine")
	s.exits(0, "repos add theirs https://git.invalid/theirs --timeout 0")

	// Everything at once: an update, secrets, a conflict, a mistake, and what is gone.
	s.write("fleet/all.yaml", fleetOf("v2", "second", service+"metadata: {name: mine}\nspec: {cluster: edge-1, repositoryRef: {name: fleet}, git: {ref: v9, folder: mine}}\n"+
		"---\napiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop}\n"+
		service+"metadata: {name: wrong}\nspec: {cluster: edge-1, drift: sometimes, repositoryRef: {name: fleet}, git: {ref: v9, folder: mine}}\n"))
	dir := filepath.Join(s.dir, "fleet")
	events, all, before := s.exits(0, "events -o jsonpath={[*].id}"), s.exits(0, "export"), s.written()
	text := s.exits(2, "diff -f "+dir+" --set fleet --prune",
		"~ update ServiceDeployment/edge-1/web", `git.ref: "v1" -> "v2"`, "secrets.password: (stored) -> (given)",
		"! refused ServiceDeployment/edge-1/mine", "all.yaml:16", "managed by people", "--take-over",
		"+ create Project/shop", "! refused ServiceDeployment/edge-1/wrong", "drift", "# not compared: what --prune would delete, because objects are refused")
	for _, secret := range []string{"second", "secrets.token"} {
		if strings.Contains(text, secret) {
			t.Errorf("the diff shows %q:\n%s", secret, text)
		}
	}

	// Without the mistakes it has deletions, and says the same as a dry run.
	s.write("fleet/all.yaml", fleetOf("v2", "first", ""))
	s.exits(1, "diff -f "+dir+" --set fleet --prune", "- delete ServiceDeployment/edge-1/old", "# 1 update, 1 delete, 1 unchanged")
	s.exits(0, "apply --dry-run -f "+dir+" --set fleet --prune", "edge-1/old")
	var p planned
	if err := json.Unmarshal([]byte(s.exits(1, "diff -f "+dir+" --set fleet --prune -o json")), &p); err != nil {
		t.Fatal(err)
	}
	if p.Summary["update"] != 1 || p.Summary["delete"] != 1 || p.Summary["unchanged"] != 1 || len(p.Objects) != 3 {
		t.Errorf("plan %+v", p)
	}
	for _, o := range p.Objects {
		if o.Action == "update" && (len(o.Fields) != 1 || o.Fields[0].Path != "git.ref" || o.Fields[0].Old != "v1" || o.Fields[0].New != "v2") {
			t.Errorf("update %+v", o)
		}
	}

	// Nothing was written: the same events and objects, and in the audit log dry runs alone.
	if again := s.exits(0, "events -o jsonpath={[*].id}"); again != events {
		t.Errorf("the events are %s, before the diffs %s", again, events)
	}
	if again := s.exits(0, "export"); again != all {
		t.Errorf("the diffs changed objects:\n%s", again)
	}
	if written := s.written(); !slices.Equal(written, before) {
		t.Errorf("calls that write, with the diffs: %q, before: %q", written, before)
	}

	// The same rights as an apply.
	s.exits(0, "serviceaccounts create ci")
	s.exits(0, "auth bind --action read --service-account ci --global")
	token := strings.TrimSpace(s.exits(0, "serviceaccounts token ci"))
	s.write("fleet/all.yaml", fleetOf("v2", "first", "---\napiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop}\n"))
	t.Setenv("AXLE_TOKEN", token)
	s.exits(2, "diff -f "+dir+" --set fleet", "! refused Project/shop", "you may not do this", "! refused ServiceDeployment/edge-1/web", "# 2 refused, 1 unchanged")
	s.exits(1, "apply --dry-run -f "+dir+" --set fleet", "Project shop: you may not do this")

	s.exits(2, "diff -f "+dir+" --repo fleet --ref main")
	s.exits(2, "diff --prune", "--prune is for manifests")
	s.exits(2, "diff -f "+s.write("broken.yaml", "---\na: 1\n---\napiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: x}\nspec: {name: x, nonsense: 1}\n"), "broken.yaml:2")
	s.exits(2, "diff -f "+s.write("broken.yaml", "---\napiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: x}\nspec: {name: x, nonsense: 1}\n"), "broken.yaml:2", "nonsense")
}
