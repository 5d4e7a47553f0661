package skew_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/chartserver"
	"github.com/axle-cd/axle/test/gitserver"
)

var recordFleet = flag.Bool("record-fleet", false, "record the fleet of this tree's hub; record.sh does, in an older tree")

// The files of the recorded fleet.
const (
	fleetDir, fleetFile = "testdata/fleet", "fleet.json"
	answersFile         = "answers.json"
	examplesDir         = "terraform"
	// upstreamAt is where its upstreams are: a later run is found there too.
	upstreamAt = "127.77.31.1:8931"
	chartsURL  = "http://" + upstreamAt + "/charts"
	gitURL     = "http://" + upstreamAt + "/fleet.git"
	sharedURL  = "http://" + upstreamAt + "/shared.git"
)

// recordedFleet is what the hub of before had and said: its people made all that it
// permitted, and that is refused today.
type recordedFleet struct {
	// At is when, in microseconds.
	At int64 `json:"at"`
	// Tokens are bearers by name.
	Tokens map[string]string `json:"tokens"`
	// Lists are the desired lists of the clusters, by name.
	Lists map[string]desiredList `json:"lists"`
	// Configurations are what services are given, each by CLUSTER/NAME.
	Configurations map[string]string `json:"configurations"`
}

type desiredList struct {
	ID       string           `json:"id"`
	Services []desiredService `json:"services"`
}

// desiredService is an entry of a list, without what a hub may say anew.
type desiredService struct {
	ID, Name, Namespace, TarballDigest, SpecDigest string
	Paused                                         bool
	Parts                                          string
}

// caller makes calls of the API as one person.
type caller struct {
	t          *testing.T
	url, token string
}

func (c caller) try(procedure, request string, args ...any) (int, []byte) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/axle.hub.v1."+procedure, strings.NewReader(fmt.Sprintf(request, args...)))
	must(c.t, err)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + c.token}}
	answer, err := http.DefaultClient.Do(r)
	must(c.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(c.t, err)
	return answer.StatusCode, text
}

func (c caller) call(procedure, request string, args ...any) map[string]any {
	c.t.Helper()
	status, text := c.try(procedure, request, args...)
	answer := map[string]any{}
	if err := json.Unmarshal(text, &answer); err != nil || status != http.StatusOK {
		c.t.Fatalf("%s %s: %d: %s", procedure, fmt.Sprintf(request, args...), status, text)
	}
	return answer
}

// upstreams serves a chart and a Git repository until the test ends.
func upstreams(t *testing.T) {
	t.Helper()
	charts := chartserver.Start(false)
	t.Cleanup(charts.Close)
	charts.Publish(chartserver.Chart{Name: "web", Version: "1.0.0"})
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	must(t, err)
	t.Cleanup(func() { _ = git.Close() }) // the end of the test is not its subject
	for _, name := range []string{"fleet", "shared"} {
		must(t, git.Create(t.Context(), name))
		_, err = git.Commit(t.Context(), name, "main", "begin", map[string]gitserver.Content{"web/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {word: one}\n"})
		must(t, err)
	}
	mux := http.NewServeMux()
	for path, to := range map[string]string{"/charts/": charts.URL(), "/": git.URL("fleet")} {
		u, err := url.Parse(to)
		must(t, err)
		u.Path = ""
		mux.Handle(path, httputil.NewSingleHostReverseProxy(u))
	}
	front := httptest.NewUnstartedServer(mux)
	must(t, front.Listener.Close())
	eventually.For(t, limit, "no other run of the test is at "+upstreamAt, func() error {
		front.Listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", upstreamAt)
		return err
	})
	front.Start()
	t.Cleanup(front.Close)
}

// makeFleet records the fleet of this tree's hub.
func makeFleet(t *testing.T) {
	t.Helper()
	must(t, os.RemoveAll(fleetDir))
	must(t, os.MkdirAll(filepath.Join(fleetDir, examplesDir), 0o755))
	upstreams(t)
	data := hubtest.Folder(t)
	config := hubtest.Config{DataDir: data, Hub: hubtest.HubConfig{AllowHTTPUpstreams: true}}
	h := hubtest.New(t, config)
	r := recordedFleet{At: time.Now().UnixMicro(), Tokens: map[string]string{"admin": h.AdminToken}, Configurations: map[string]string{}}
	people(t, h.URL, r.Tokens)
	declareFleet(t, h.URL, r.Tokens)
	examples, err := filepath.Glob("../../examples/terraform/*.tf")
	must(t, err)
	for _, file := range examples {
		copyFile(t, file, filepath.Join(fleetDir, examplesDir, filepath.Base(file)))
	}
	tf := newTerraform(t, h, filepath.Join(fleetDir, examplesDir))
	tf.run("apply", "-auto-approve", "-no-color")
	copyFile(t, filepath.Join(tf.dir, stateFile), filepath.Join(fleetDir, examplesDir, stateFile))

	admin := caller{t, h.URL, h.AdminToken}
	for _, name := range []string{"till/web", "till/plain", "till/by-url", "till/payroll", "till/two", "till/vpn", "mine/vpn", "mine/logs", "kiosk/logs"} {
		cluster, service, _ := strings.Cut(name, "/")
		eventually.For(t, limit, name+" has content", func() error {
			status, text := admin.try("Services/Get", `{"ref": {"cluster": %q, "name": %q}}`, cluster, service)
			if !bytes.Contains(text, []byte(`"desiredDigest"`)) {
				return fmt.Errorf("%d: %s", status, text)
			}
			return nil
		})
		r.Configurations[name] = configuration(admin, name)
	}
	r.Lists = lists(t, h)
	recordAnswers(t, admin)
	must(t, h.Stop())
	pack(t, filepath.Join(data, "hub.db"), filepath.Join(fleetDir, databaseFile))
	packFolder(t, filepath.Join(data, "cache"), filepath.Join(fleetDir, cacheFile))
	copyFile(t, filepath.Join(data, keyFile), filepath.Join(fleetDir, keyFile))
	text, err := json.MarshalIndent(r, "", " ")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(fleetDir, fleetFile), append(text, '\n'), 0o600))
}

// recordAnswers records what the hub answers an administrator's lists.
func recordAnswers(t *testing.T, admin caller) {
	t.Helper()
	all := map[string]any{}
	for _, p := range []string{"Hub/Status", "Bindings/List", "Clusters/List", "Groups/List", "Projects/List", "Repositories/List", "Services/List", "GlobalServices/List"} {
		all[p] = admin.call(p, `{}`)
	}
	text, err := json.MarshalIndent(all, "", " ")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(fleetDir, answersFile), append(text, '\n'), 0o600))
}

// people makes an owner of a project, a stranger with another one, somebody who may write
// where the hub's own cluster is, and tokens with fewer scopes.
func people(t *testing.T, hub string, tokens map[string]string) {
	t.Helper()
	admin := caller{t, hub, tokens["admin"]}
	for _, p := range []struct{ who, project, actions string }{{"owner", "store", `"write", "git"`}, {"stranger", "lab", `"write", "git"`}, {"gardener", "default", `"write"`}} {
		if p.project != "default" {
			admin.call("Projects/Create", `{"name": %q}`, p.project)
		}
		made := admin.call("Users/Create", `{"email": "%s@example.com", "tokenScopes": ["admin"]}`, p.who)
		tokens[p.who], _ = made["token"].(string)
		admin.call("Bindings/Create", `{"subjectKind": "user", "subject": "%s@example.com", "actions": [%s], "place": {"project": %q}}`, p.who, p.actions, p.project)
	}
	for _, scope := range []string{"read", "write"} {
		made := admin.call("Tokens/Create", `{"name": %q, "scopes": [%q]}`, scope, scope)
		tokens["admin-"+scope], _ = made["secret"].(string)
	}
	admin.call("Groups/Create", `{"name": "kubeadm:cluster-admins"}`)
	admin.call("Groups/AddMember", `{"group": "kubeadm:cluster-admins", "user": "stranger@example.com"}`)
}

// declareFleet makes clusters and services, of which each is something that nobody could
// make today.
func declareFleet(t *testing.T, hub string, tokens map[string]string) {
	t.Helper()
	admin, owner, stranger := caller{t, hub, tokens["admin"]}, caller{t, hub, tokens["owner"]}, caller{t, hub, tokens["stranger"]}
	service := func(as caller, name, spec string, args ...any) {
		as.call("Services/Apply", `{"ref": {"cluster": "till", "name": "`+name+`"}, "spec": {`+spec+`}}`, args...)
	}
	admin.call("Clusters/Create", `{"name": "mgmt"}`)
	owner.call("Clusters/Create", `{"name": "till", "handle": "t", "project": "store", "tags": {"tier": "dev"}}`)
	owner.call("Repositories/Create", `{"name": "fleet-of-store", "project": "store", "url": %q}`, gitURL)
	const web, two = `"helm": {"url": %q, "chart": "web", "version": ">=1", "release": %q}`, `"repository": "fleet-of-store", "git": {"ref": "main", "folder": "web"}, "sources": [{"path": "chart", "url": %q, "chart": "web", "version": %q}]`
	service(owner, "web", web, chartsURL, "first")
	service(owner, "two", two, chartsURL, "1.0.0")
	admin.call("GlobalServices/Apply", `{"name": "logs", "settings": {"tags": {"tier": "dev"}}, "spec": {"helm": {"url": %q, "chart": "web", "version": ">=1"}}}`, chartsURL)
	eventually.For(t, limit, "the first cluster has logs", func() error {
		if status, text := admin.try("Services/Get", `{"ref": {"cluster": "till", "name": "logs"}}`); status != http.StatusOK {
			return fmt.Errorf("%d: %s", status, text)
		}
		return nil
	})
	// A stranger registers the URLs, and what is changed or delivered next follows theirs.
	stranger.call("Repositories/Create", `{"name": "lab-charts", "project": "lab", "type": "helm", "url": %q}`, chartsURL)
	stranger.call("Repositories/Create", `{"name": "lab-fleet", "project": "lab", "url": %q}`, sharedURL)
	service(owner, "web", web, chartsURL, "web")
	service(admin, "two", two, chartsURL, ">=1")
	service(admin, "by-url", `"git": {"url": %q, "ref": "main", "folder": "web"}`, sharedURL)
	owner.call("Clusters/Create", `{"name": "kiosk", "project": "store", "tags": {"tier": "dev"}}`)
	stranger.call("Clusters/Create", `{"name": "mine", "handle": "till", "project": "lab", "tags": {"tier": "dev"}}`)

	service(owner, "plain", `"repository": "fleet-of-store", "git": {"ref": "main", "folder": "web"}, "configuration": {"region": "north"}, "secrets": {"password": "recorded"}`)
	service(owner, "payroll", `"namespace": "payments", "serviceAccount": "payments/deployer", "repository": "fleet-of-store", "git": {"ref": "main", "folder": "web"}`)
	stranger.call("Services/Create", `{"ref": {"cluster": "mine", "name": "axle-agent"}, "spec": {"repository": "lab-fleet", "git": {"ref": "main", "folder": "web"}}}`)
	admin.call("Repositories/Create", `{"name": "fleet-of-all", "url": %q}`, gitURL)
	admin.call("GlobalServices/Apply", `{"name": "vpn", "settings": {"tags": {"tier": "dev"}}, "spec": {"repository": "fleet-of-all", "git": {"ref": "main", "folder": "web"}, "secrets": {"key": "recorded"}}}`)
}

// lists are the desired lists of all clusters, without services that the hub makes itself
// of files of its own version.
func lists(t *testing.T, h *hubtest.Hub) map[string]desiredList {
	t.Helper()
	all := map[string]desiredList{}
	answer := caller{t, h.URL, h.AdminToken}.call("Clusters/List", `{}`)
	clusters, _ := answer["clusters"].([]any)
	for _, one := range clusters {
		c, _ := one.(map[string]any)
		name, id := fmt.Sprint(c["name"]), fmt.Sprint(c["id"])
		list, err := h.Parts().Desired.For(id)
		must(t, err)
		if len(list.Tombstones) > 0 {
			t.Errorf("the list of %s removes %v", name, list.Tombstones)
		}
		have := desiredList{ID: id}
		for _, s := range list.Services {
			have.Services = append(have.Services, desiredService{s.ID, s.Name, s.Namespace, s.TarballDigest, s.SpecDigest, s.Paused, fmt.Sprint(s.Parts)})
		}
		all[name] = have
	}
	return all
}

// configuration is what a service is given, with hashes in place of secrets.
func configuration(admin caller, name string) string {
	cluster, service, _ := strings.Cut(name, "/")
	text, err := json.Marshal(admin.call("Services/Config", `{"ref": {"cluster": %q, "name": %q}}`, cluster, service))
	must(admin.t, err)
	return string(text)
}

const stateFile = "terraform.tfstate"

// terraform is a folder in which terraform runs with the provider of this tree.
type terraform struct {
	t   *testing.T
	dir string
	env []string
}

func newTerraform(t *testing.T, h *hubtest.Hub, examples string) terraform {
	t.Helper()
	provider, err := bin.Path(t.Context(), "terraform-provider-axle", bin.Options{})
	must(t, err)
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(examples)))
	rc := filepath.Join(dir, "terraform.rc")
	must(t, os.WriteFile(rc, fmt.Appendf(nil, "provider_installation {\n  dev_overrides {\n    \"axle-cd/axle\" = %q\n  }\n  direct {}\n}\n", filepath.Dir(provider)), 0o600))
	env := append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1", "AXLE_CONFIG="+filepath.Join(dir, "none.yaml"), "AXLE_HUB_URL="+h.URL, "AXLE_TOKEN="+h.AdminToken)
	for _, name := range []string{"git_password", "webhook_secret", "database_password", "api_key", "client_secret"} {
		env = append(env, "TF_VAR_"+name+"=recorded-"+name)
	}
	return terraform{t, dir, append(env, "TF_VAR_chat_url=https://chat.example.com/recorded")}
}

func (x terraform) run(args ...string) string {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "terraform", args...)
	c.Dir, c.Env = x.dir, x.env
	out, err := c.CombinedOutput()
	if err != nil {
		x.t.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
