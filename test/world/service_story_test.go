package world_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/world"
)

const examples = "../../examples"

// TestServiceStories are stories of services on one cluster, one after the
// other, told by the axle command alone.
func TestServiceStories(t *testing.T) {
	t.Parallel()
	tools := toolsOf(t)
	s := newStageOf(t, world.Config{Clusters: []string{"edge-1"}, Hub: []string{"--repo-poll-interval", "2s"}}, "--tools-dir", tools)
	for _, story := range []struct {
		name string
		tell func(*stage)
	}{
		{"diff", (*stage).diffs},
		{"a pause taken back", (*stage).pauseTakenBack},
		{"rare renderers", (*stage).rareRenderers},
		{"limits of a project", (*stage).projectLimits},
		{"sync windows", (*stage).syncWindows},
	} {
		ok := t.Run(story.name, func(t *testing.T) {
			inner := *s
			inner.t = t
			story.tell(&inner)
		})
		if !ok {
			return
		}
	}
}

// toolsOf is a folder with the tools of the examples, and their module.
func toolsOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(examples+"/renderers/tools")); err != nil {
		t.Fatal(err)
	}
	declared, err := os.ReadFile(filepath.Join(dir, "tools.yaml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "tools.yaml"), append(declared, "  web: {module: web.wasm}\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	module, err := bin.Path(t.Context(), "_module", bin.Options{Package: "./examples/renderers/_module", Target: "wasip1/wasm"})
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(module)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "web.wasm"), code, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// commitFiles makes a repository's branch main hold the files.
func (s *stage) commitFiles(repository, message string, files map[string]string) {
	s.t.Helper()
	_, err := s.Git.Commit(s.t.Context(), repository, "main", message, files)
	s.must(err)
}

// commitExamples puts the examples where a user of them has them.
func (s *stage) commitExamples() {
	s.t.Helper()
	files := map[string]string{
		"lua/Chart.yaml":       "apiVersion: v2\nname: lua\nversion: 1.0.0\n",
		"lua/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lua-web}\ndata: {color: {{ .Values.color }}}\n",
	}
	s.must(fs.WalkDir(os.DirFS(examples), "renderers", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(examples, path))
		files["examples/"+path] = string(text)
		return err
	}))
	s.must(s.Git.Create(s.t.Context(), "examples"))
	s.commitFiles("examples", "examples", files)
	s.axle("repos", "add", "examples", s.Git.URL("examples"))
}

// rareRenderers deploys what only axle-render-rare renders, and tools, through a
// hub: the examples, as docs/spec/renderers.md says.
func (s *stage) rareRenderers() {
	s.commitExamples()
	file := func(name, folder, more string) string {
		return fmt.Sprintf("---\napiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: %s, namespace: default}\nspec:\n"+
			"  cluster: edge-1\n  repositoryRef: {name: examples}\n  git: {ref: main, folder: %s}\n  configuration: {color: green}\n%s", name, folder, more)
	}
	s.axle("apply", "-f", examples+"/renderers/services")
	s.axle("apply", "-f", s.write("rare.yaml",
		file("cue-web", "examples/renderers/cue", "")+
			file("wasm-web", "examples/renderers/_module", "  renderers: [{path: ., type: WASM, wasm: {tool: web}}]\n")+
			file("lua-web", "lua", "  helm: {luaScript: 'values.color = configuration.color'}\n")))
	for _, one := range []struct{ service, object, want string }{
		{"jsonnet-web", "jsonnet-web", "green"}, {"cue-web", "cue-web", "green"}, {"wasm-web", "wasm-web", "green"}, {"lua-web", "lua-web", "green"}, {"names", "one", ""}, {"web", "changed-web", "green"},
	} {
		s.eventual("service "+one.service, func() error {
			o, err := s.get("edge-1", "default", one.object)
			if err != nil {
				service, _ := s.Service(s.t.Context(), "edge-1", one.service)
				return fmt.Errorf("%w; the service says %s", err, service.Text())
			}
			if o.Data["color"] != one.want {
				return fmt.Errorf("its color is %q", o.Data["color"])
			}
			return nil
		})
	}
}

// diffView is what "axle services diff -o json" prints.
type diffView struct {
	Unchanged   int
	Differences []struct {
		Kind, Name, Action, Desired, Live string
	}
}

// pauseTakenBack waits for a pause of which the agent never hears, and that somebody takes back.
func (s *stage) pauseTakenBack() {
	s.deploy("edge-1", "back", "app")
	s.must(s.agents["edge-1"].Kill())
	waited := make(chan string, 1)
	go func() { waited <- s.differs(3, "services", "pause", "edge-1/back", "--wait") }()
	s.eventual("it is paused", func() error { return s.contains("services get edge-1/back", "Stopping") })
	s.axle("services", "resume", "edge-1/back")
	if out := <-waited; !strings.Contains(out, "axle services pause edge-1/back pauses it again") {
		s.t.Errorf("the wait ends with %s", out)
	}
	s.must(s.agents["edge-1"].Start())
}

// diffs requests what an apply would change while the service is paused: nothing is
// written, and differences are shown without secret values.
func (s *stage) diffs() {
	secret := func(word string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: secret}\nstringData: {plain: " + word + "-in-git, word: \"{{ configuration.word }}\"}\n"
	}
	uses := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: uses}\ndata: {url: \"https://user:{{ configuration.word }}@db\"}\n"
	s.commitFiles("fleet", "before", map[string]string{"diff/one.yaml": object("one", "before"), "diff/two.yaml": object("two", "goes"), "diff/same.yaml": object("same", "same"), "diff/secret.yaml.liquid": secret("before")})
	s.axle("services", "create", "edge-1/diff", "--repo", "fleet", "--ref", "main", "--folder", "diff", "--secret-file", "word="+s.write("diff-secret", "hunter2-hunter2"))
	s.axle("services", "wait", "edge-1/diff", "--timeout", "5m")
	if result, err := s.Axle(s.t.Context(), "services", "diff", "edge-1/diff", "--last"); err == nil || !strings.Contains(err.Error(), "there is no diff of edge-1/diff yet") {
		s.t.Errorf("the last of none: %v, %s", err, result.Out)
	}
	if out := s.axle("services", "diff", "edge-1/diff"); !strings.Contains(out, ": 0 differ, 4 are up to date") {
		s.t.Errorf("nothing changed: %s", out)
	}

	s.axle("services", "pause", "edge-1/diff")
	s.commitFiles("fleet", "after", map[string]string{"diff/one.yaml": object("one", "after"), "diff/two.yaml": object("three", "comes"), "diff/secret.yaml.liquid": secret("after"), "diff/uses.yaml.liquid": uses})
	s.eventual("the hub has the commit", func() error { return s.contains("services get edge-1/diff", "after") })
	reports := s.proxy.Count("/ReportDiff")
	text := s.differs(1, "services", "diff", "edge-1/diff")
	for _, want := range []string{
		"# update ConfigMap diff/one", "--- live/ConfigMap/diff/one", "-  word: before", "+  word: after",
		"# create ConfigMap diff/three", "+  word: comes", "# delete ConfigMap diff/two", "-  word: goes", "# update Secret diff/secret", "# create ConfigMap diff/uses",
		": 5 differ, 1 are up to date",
	} {
		if !strings.Contains(text, want) {
			s.t.Errorf("no %q in\n%s", want, text)
		}
	}
	last := s.differs(1, "services", "diff", "edge-1/diff", "--last", "-o", "json", "-q")
	for _, hidden := range []string{"hunter2", "before-in-git", "after-in-git", base64.StdEncoding.EncodeToString([]byte("after-in-git"))} {
		if strings.Contains(text+last, hidden) {
			s.t.Errorf("%q is shown in\n%s\n%s", hidden, text, last)
		}
	}
	var view diffView
	s.must(json.Unmarshal([]byte(last), &view))
	actions := map[string]string{}
	for _, d := range view.Differences {
		actions[d.Kind+" "+d.Name] = d.Action
		if d.Kind == "Secret" && (d.Desired == "" || d.Desired == d.Live || strings.Count(d.Desired, "word:") != 1) {
			s.t.Errorf("a secret value that changes is another hash: %s, live %s", d.Desired, d.Live)
		}
	}
	if len(actions) != 5 || actions["ConfigMap two"] != "delete" || actions["ConfigMap three"] != "create" || view.Unchanged != 1 {
		s.t.Errorf("%v, %d unchanged", actions, view.Unchanged)
	}
	if n := s.proxy.Count("/ReportDiff") - reports; n != 1 {
		s.t.Errorf("the agent told the hub %d times", n)
	}
	o, err := s.get("edge-1", "diff", "one")
	if err != nil || o.Data["word"] != "before" {
		s.t.Errorf("the diff was applied: %v, %v", o.Data, err)
	}
	s.axle("services", "resume", "edge-1/diff")
	s.says("edge-1", "diff", "after")
}

// projectLimits makes a tenant's project try forbidden operations.
func (s *stage) projectLimits() {
	kubectl := func(args ...string) {
		s.t.Helper()
		_, err := s.Kubectl(s.t.Context(), "edge-1", args...)
		s.must(err)
	}
	for _, namespace := range []string{"shop", "shop-2", "other"} {
		kubectl("create", "namespace", namespace)
	}
	// The account has more rights than the project allows: limits apply in addition
	// to its rights.
	kubectl("create", "serviceaccount", "deployer", "-n", "shop")
	kubectl("create", "clusterrolebinding", "deployer", "--clusterrole", "cluster-admin", "--serviceaccount", "shop:deployer")
	s.axle("projects", "create", "shop", "--allow-namespace", "shop,shop-*", "--allow-kind", "ConfigMap", "--service-account", "shop/deployer")
	tenant := func(name string, more ...string) error {
		_, err := s.Axle(s.t.Context(), append([]string{"services", "create", "edge-1/" + name, "--project", "shop", "--namespace", "shop", "--repo", "fleet", "--ref", "main", "--folder", name, "--create-namespace=false"}, more...)...)
		return err
	}
	s.commitFiles("fleet", "tenants", map[string]string{
		"in/one.yaml":     object("one", "in") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: near, namespace: shop-2}\n",
		"out/one.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: out, namespace: other}\n",
		"kind/one.yaml":   "apiVersion: v1\nkind: Secret\nmetadata: {name: out}\n",
		"global/one.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: tenant-escapes}\nrules: []\n",
	})
	if err := tenant("in", "--namespace", "other"); err == nil || !strings.Contains(err.Error(), "project shop may use") {
		s.t.Errorf("a service in another namespace: %v", err)
	}
	for _, name := range []string{"in", "out", "kind", "global"} {
		s.must(tenant(name))
	}
	s.says("edge-1", "shop", "in")
	for name, says := range map[string]string{
		"out": "not one of those that the service may write to", "kind": "kind Secret is not one of those", "global": "belongs to the whole cluster",
	} {
		s.state("edge-1", name, "Failed", says)
	}
	for _, object := range [][]string{{"configmap", "out", "-n", "other"}, {"secret", "out", "-n", "shop"}, {"clusterrole", "tenant-escapes"}} {
		result, err := s.Kubectl(s.t.Context(), "edge-1", append([]string{"get", "--ignore-not-found"}, object...)...)
		if err != nil || result.Out != "" {
			s.t.Errorf("%v is there: %s %v", object, result.Out, err)
		}
	}
	if _, err := s.Axle(s.t.Context(), "projects", "update", "shop", "--allow-namespace", "other", "--service-account", "deployer"); err == nil || !strings.Contains(err.Error(), "is in namespace shop") {
		s.t.Errorf("limits that leave services out: %v", err)
	}
	s.axle("projects", "update", "shop", "--allow-kind", "ConfigMap,Secret")
	s.eventual("the Secret is allowed", func() error {
		_, err := s.Kubectl(s.t.Context(), "edge-1", "get", "secret", "out", "-n", "shop")
		return err
	})
}

// syncWindows closes and opens a project's window and the hub's.
func (s *stage) syncWindows() {
	const always = "deny:* * * * *:1m"
	s.commit("windows", "0")
	s.deploy("edge-1", "windows", "windows")
	for _, level := range []struct {
		words       string
		close, open []string
	}{
		{"project's deny window", []string{"projects", "update", "default", "--sync-window", always}, []string{"projects", "update", "default", "--sync-window", ""}},
		{"hub's deny window", []string{"hub", "sync-windows", "set", always}, []string{"hub", "sync-windows", "set", "--none"}},
	} {
		s.axle(level.close...)
		before, waiting := s.commitUntilHeld("windows", level.words)
		o, err := s.get("edge-1", "windows", "one")
		if err != nil || o.Data["word"] != before {
			s.t.Errorf("behind a closed window it says %v, before it %s: %v", o.Data, before, err)
		}
		s.axle(level.open...)
		s.says("edge-1", "windows", waiting)
		s.axle("services", "wait", "edge-1/windows", "--timeout", "5m")
	}
}

// commitUntilHeld commits to a service until the agent has the window, and
// returns the last word that it let in and the first that it did not.
func (s *stage) commitUntilHeld(name, why string) (in, held string) {
	s.t.Helper()
	o, err := s.get("edge-1", name, "one")
	s.must(err)
	in = o.Data["word"]
	for n := range 20 {
		held = fmt.Sprintf("%s %d", why, n)
		s.commit(name, held)
		closed := false
		s.eventual("a commit is let in or held", func() error {
			service, err := s.Service(s.t.Context(), "edge-1", name)
			if err != nil {
				return err
			}
			if closed = strings.Contains(service.Text(), "Held SyncWindow"); closed {
				if !strings.Contains(service.Text(), why) {
					s.t.Errorf("held by another window: %s", service.Text())
				}
				return nil
			}
			if o, err := s.get("edge-1", name, "one"); err != nil || o.Data["word"] != held {
				return fmt.Errorf("it says %v (%v), the service %s", o.Data, err, service.Text())
			}
			return nil
		})
		if closed {
			return in, held
		}
		in = held
	}
	s.t.Fatal("20 commits went through a closed window")
	return in, held
}
