package terraform_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/terraform"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/scale/hubproc"
	"github.com/axle-cd/axle/test/scale/people"
)

// front is between the provider and a hub. A test breaks one call in it.
type front struct {
	url  string
	hub  http.Handler
	mu   sync.Mutex
	seen map[string]int
	on   func(call string, n int, w http.ResponseWriter, r *http.Request) (done bool)
}

func newFront(t *testing.T, hub string, ca []byte) *front {
	t.Helper()
	target, err := url.Parse(hub)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	transport := &http.Transport{DisableCompression: true}
	if len(ca) > 0 {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(ca)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	proxy.Transport = transport
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	f := &front{hub: proxy, seen: map[string]int{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	t.Cleanup(transport.CloseIdleConnections)
	f.url = server.URL
	return f
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := strings.TrimPrefix(r.URL.Path, "/axle.hub.v1.")
	f.mu.Lock()
	f.seen[call]++
	n, on := f.seen[call], f.on
	f.mu.Unlock()
	if on == nil || !on(call, n, w, r) {
		f.hub.ServeHTTP(w, r)
	}
}

// set is what happens with further calls, counted from 1.
func (f *front) set(on func(call string, n int, w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.on = map[string]int{}, on
}

// lose lets the hub do a call whose answer nobody gets.
func (f *front) lose(r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	f.hub.ServeHTTP(answer, r.WithContext(context.WithoutCancel(r.Context())))
	return answer
}

// through sends the workspace's calls to a front.
func (w *workspace) through(f *front) {
	w.without("AXLE_HUB_URL")
	w.env = append(w.env, "AXLE_HUB_URL="+f.url)
}

// chain are projects that are made one after the other.
func chain(name string, n int, more string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "resource \"axle_project\" \"%s%d\" {\n  name = \"%s%d\"\n%s", name, i, name, i, more)
		if i > 0 {
			fmt.Fprintf(&b, "  depends_on = [axle_project.%s%d]\n", name, i-1)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// projects are those that Terraform manages.
func projects(t *testing.T, c *sdk.Client) (names []string) {
	t.Helper()
	answer, err := c.Projects.List(t.Context(), connect.NewRequest(&hubv1.ListProjectsRequest{ManagedByTool: "terraform"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range answer.Msg.GetProjects() {
		names = append(names, p.GetName())
	}
	slices.Sort(names)
	return names
}

var apply = []string{"apply", "-auto-approve", "-no-color"}

// TestHubAwayInTheMiddleOfAnApply kills a hub and starts it again.
func TestHubAwayInTheMiddleOfAnApply(t *testing.T) {
	program, err := bin.Path(t.Context(), "axle-hub", bin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hub, err := hubproc.Start(t.Context(), hubproc.Config{Dir: filepath.Join(t.TempDir(), "hub"), Program: program})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Close(); err != nil {
			t.Error(err)
		}
	})
	admin, err := people.SetUp(t.Context(), people.Hub{URL: hub.URL(), CAPEM: hub.CA()}, hub.SetupTokenFile())
	if err != nil {
		t.Fatal(err)
	}
	f := newFront(t, hub.URL(), hub.CA())
	w := newWorkspace(t, &hubtest.Hub{URL: f.url, AdminToken: admin.Token})
	c, err := sdk.New(sdk.Config{URL: f.url, Token: admin.Token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)

	// It is killed after it made a project and before it said so, and is back in a moment:
	// the same apply goes on, and the project is ours.
	lost := ""
	f.set(func(call string, n int, _ http.ResponseWriter, r *http.Request) bool {
		if call == lost || n != 2 || call != "Projects/Create" && call != "Projects/Update" && call != "Projects/Delete" {
			return false
		}
		lost = call
		f.lose(r)
		if err := errors.Join(hub.Kill(0), hub.Again(t.Context(), 0)); err != nil {
			t.Error(err)
		}
		panic(http.ErrAbortHandler)
	})
	w.config(chain("p", 4, ""))
	w.apply()
	w.empty()
	if got := fmt.Sprint(projects(t, c)); got != "[p0 p1 p2 p3]" {
		t.Errorf("the hub has %s", got)
	}
	// The same with a change and a deletion.
	w.config(chain("p", 4, "  description = \"changed\"\n"))
	w.apply()
	w.empty()
	w.run("destroy", "-auto-approve")
	if got := fmt.Sprint(projects(t, c)); got != "[]" || lost != "Projects/Delete" {
		t.Errorf("after the loss of %s, the hub has %s", lost, got)
	}
	w.config(chain("p", 4, ""))
	w.apply()

	// It is killed before it takes a project, and stays away for longer than the apply.
	kill := func(lose bool) {
		f.set(func(call string, n int, _ http.ResponseWriter, r *http.Request) bool {
			if call != "Projects/Create" || n != 2 {
				return false
			}
			if lose {
				f.lose(r)
			}
			if err := hub.Kill(0); err != nil {
				t.Error(err)
			}
			panic(http.ErrAbortHandler)
		})
	}
	again := func() {
		f.set(nil)
		if err := hub.Again(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	short := "  timeouts {\n    create = \"3s\"\n  }\n"
	kill(false)
	w.config(chain("p", 4, "") + chain("shop", 3, short))
	w.fails(apply, "Cannot create project shop1", "cannot reach the hub at "+f.url)
	again()
	w.want(map[string]string{"axle_project.shop1": "create", "axle_project.shop2": "create"})
	w.apply()
	w.empty()

	// And it is killed after it made one, and stays away: only people know whose that is.
	kill(true)
	w.config(chain("p", 4, "") + chain("shop", 6, short))
	w.fails(apply, "If the next apply reports that it exists", "terraform import axle_project.NAME shop4")
	again()
	w.fails(apply, "it exists already, managed by terraform/default", "terraform import axle_project.NAME shop4")
	w.config(chain("p", 4, "") + chain("shop", 6, short) + "import {\n  to = axle_project.shop4\n  id = \"shop4\"\n}\n")
	w.apply()
	w.empty()
	if got := fmt.Sprint(projects(t, c)); got != "[p0 p1 p2 p3 shop0 shop1 shop2 shop3 shop4 shop5]" {
		t.Errorf("the hub has %s", got)
	}
}

// TestRestoredHub restores a hub from a backup that is older than what Terraform made and
// changed since.
func TestRestoredHub(t *testing.T) {
	dir := hubtest.Folder(t)
	h := hubtest.New(t, hubtest.Config{DataDir: dir})
	w := newWorkspace(t, h)
	context := func(version string) string {
		return fmt.Sprintf("resource \"axle_service_context\" \"x\" {\n  name = \"x\"\n  secrets_wo = { password = \"of version %s\" }\n  secrets_wo_version = %s\n}\n", version, version)
	}
	first := shop + context("1") + "resource \"axle_project\" \"kept\" {\n  name = \"kept\"\n}\nresource \"axle_project\" \"gone\" {\n  name = \"gone\"\n}\n"
	w.config(first)
	w.apply()
	file := filepath.Join(t.TempDir(), "backup")
	if err := hubtest.Backup(t.Context(), hubtest.Config{DataDir: dir}, file); err != nil {
		t.Fatal(err)
	}
	w.config(strings.Replace(shop, "from Terraform", "changed", 1) + context("2") + "resource \"axle_project\" \"kept\" {\n  name = \"kept\"\n}\nresource \"axle_project\" \"later\" {\n  name = \"later\"\n}\n")
	w.apply()
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := hubtest.Restore(t.Context(), hubtest.Config{DataDir: dir}, file); err != nil {
		t.Fatal(err)
	}
	h = hubtest.New(t, hubtest.Config{DataDir: dir})
	w.without("AXLE_HUB_URL")
	w.env = append(w.env, "AXLE_HUB_URL="+h.URL)
	c := client(t, h)
	status, err := c.Hub.Status(t.Context(), connect.NewRequest(&hubv1.HubStatusRequest{}))
	if err != nil || !status.Msg.GetDeletesHeld() {
		t.Fatalf("the hub does not know that it was restored: %v, %v", status, err)
	}
	// What was made later is made again, and what was changed later changed again. What
	// was destroyed later is back, and in no state: it is the only thing that people must
	// look for.
	w.want(map[string]string{"axle_project.later": "create", "axle_project.shop": "update", "axle_service_context.x": "update"})
	w.apply()
	w.empty()
	if got := fmt.Sprint(projects(t, c)); got != "[gone kept later shop]" {
		t.Errorf("the hub has %s", got)
	}
}

// TestOlderAndNewerHub puts a hub of another version behind the provider.
func TestOlderAndNewerHub(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	f := newFront(t, h.URL, nil)
	w := newWorkspace(t, h)
	w.through(f)

	// An older one has no managed namespaces, as any hub has no such service.
	f.set(func(call string, _ int, w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(call, "ManagedNamespaces/") {
			r.URL.Path = "/axle.hub.v1.Nothing/Get"
			f.hub.ServeHTTP(w, r)
			return true
		}
		return false
	})
	w.config(shop + "resource \"axle_managed_namespace\" \"team\" {\n  name = \"team\"\n}\n")
	w.fails(apply, "managed namespace team", "does not know this call", "the hub is older than this program")

	// One that does not know a field drops it.
	f.set(func(call string, _ int, _ http.ResponseWriter, r *http.Request) bool {
		if call == "Projects/Create" {
			var request hubv1.CreateProjectRequest
			body, err := io.ReadAll(r.Body)
			err = errors.Join(err, proto.Unmarshal(body, &request))
			request.Description = ""
			body, failed := proto.Marshal(&request)
			if err := errors.Join(err, failed); err != nil {
				t.Error(err)
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", fmt.Sprint(len(body)))
		}
		return false
	})
	w.config(shop)
	w.fails(apply, "The hub did not take all of project shop", "another value of: description", "older than the provider")

	// A newer one answers with fields that the provider does not know.
	f.set(func(_ string, _ int, w http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("Accept-Encoding")
		answer := f.lose(r)
		body := answer.Body.Bytes()
		if strings.HasSuffix(answer.Header().Get("Content-Type"), "/proto") {
			body = protowire.AppendString(protowire.AppendTag(body, 5000, protowire.BytesType), "of a newer hub")
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body)
		return true
	})
	w.apply()
	w.empty()
	w.run("destroy", "-auto-approve")
}

// TestInterruptedApply ends terraform as Ctrl-C does, while the hub makes a project.
func TestInterruptedApply(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	f := newFront(t, h.URL, nil)
	w := newWorkspace(t, h)
	w.through(f)
	w.config(chain("p", 4, ""))
	command := exec.CommandContext(t.Context(), "terraform", apply...)
	command.Dir, command.Env = w.dir, w.env
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	started := make(chan struct{}) // before that the process has no number to be signalled by
	f.set(func(call string, n int, w2 http.ResponseWriter, r *http.Request) bool {
		if call != "Projects/Create" || n != 2 {
			return false
		}
		answer := f.lose(r)
		<-started
		if err := command.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		err := eventually.Wait(t.Context(), time.Minute, func() error {
			text, err := os.ReadFile(filepath.Join(w.dir, "trace.log"))
			if err == nil && !bytes.Contains(text, []byte("tf_rpc=StopProvider")) {
				err = errors.New("the provider is not told to stop")
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		for name, values := range answer.Header() {
			w2.Header()[name] = values
		}
		w2.WriteHeader(answer.Code)
		_, _ = w2.Write(answer.Body.Bytes())
		return true
	})
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	close(started)
	if err := command.Wait(); err == nil {
		t.Fatalf("the apply was not interrupted:\n%s", out.String())
	}
	f.set(nil)
	w.want(map[string]string{"axle_project.p2": "create", "axle_project.p3": "create"})
	w.apply()
	w.empty()
	if got := fmt.Sprint(projects(t, client(t, h))); got != "[p0 p1 p2 p3]" {
		t.Errorf("the hub has %s", got)
	}
}

// TestTokenRevokedInTheMiddle revokes the token after the first object of an apply. A new
// one goes on.
func TestTokenRevokedInTheMiddle(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	c := client(t, h)
	made, err := c.Tokens.Create(t.Context(), connect.NewRequest(&hubv1.CreateTokenRequest{Name: "of a job"}))
	if err != nil {
		t.Fatal(err)
	}
	f := newFront(t, h.URL, nil)
	w := newWorkspace(t, h)
	w.through(f)
	w.without("AXLE_TOKEN")
	former := w.env
	w.env = append(w.env, "AXLE_TOKEN="+made.Msg.GetSecret())
	f.set(func(call string, n int, _ http.ResponseWriter, _ *http.Request) bool {
		if call == "Projects/Create" && n == 2 {
			if _, err := c.Tokens.Revoke(t.Context(), connect.NewRequest(&hubv1.RevokeTokenRequest{Id: made.Msg.GetToken().GetId()})); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	w.config(chain("p", 3, ""))
	w.fails(apply, "Cannot create project p1", "The token was revoked or has expired: give the provider another one")
	if got := fmt.Sprint(w.state()); got != "[axle_project.p0]" {
		t.Errorf("the state has %s", got)
	}
	w.env = append(slices.Clone(former), "AXLE_TOKEN="+h.AdminToken)
	w.want(map[string]string{"axle_project.p1": "create", "axle_project.p2": "create"})
	w.apply()
	w.empty()
}

// TestObjectsOfOthers are made by the operator and by people with the console.
func TestObjectsOfOthers(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	c := client(t, h)
	for name, by := range map[string]*hubv1.Manager{"of-operator": {Tool: "operator", Id: "Project platform/shop"}, "of-console": {Tool: "console"}} {
		if _, err := c.Projects.Create(t.Context(), connect.NewRequest(&hubv1.CreateProjectRequest{Name: name, Management: &hubv1.Management{By: by}})); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Outputs.Put(t.Context(), connect.NewRequest(&hubv1.PutOutputsRequest{Outputs: &hubv1.Context{Name: name, Values: "{}"}, Management: &hubv1.Management{By: by}})); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorkspace(t, h)
	config := ""
	for _, name := range []string{"of-operator", "of-console"} {
		config += fmt.Sprintf("resource \"axle_project\" %q {\n  name = %q\n}\nresource \"axle_outputs\" %q {\n  name = %q\n}\n", name, name, name, name)
	}
	w.config(config)
	w.fails(apply, "managed by operator/Project platform/shop", "managed by console", "terraform import axle_project.NAME of-operator", "terraform import axle_outputs.NAME of-console")
	if left := w.state(); len(left) > 0 {
		t.Errorf("the state has %v", left)
	}
}

// TestImportOfNothing imports an object of each kind that the hub does not have.
func TestImportOfNothing(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	w := newWorkspace(t, h)
	var blocks strings.Builder
	want := 0
	for _, l := range lives {
		form := terraform.ImportID(l.kind)
		if l.never != "" || strings.Contains(blocks.String(), "axle_"+l.kind+".") {
			continue
		}
		id := strings.Repeat("nothing/", strings.Count(form, "/")) + "nothing"
		fmt.Fprintf(&blocks, "import {\n  to = %s\n  id = %q\n}\n", l.address(), id)
		want++
	}
	w.config(blocks.String())
	out, err := w.try("plan", "-no-color", "-generate-config-out=generated.tf")
	if err == nil {
		t.Fatalf("the plan has no error:\n%s", out)
	}
	for _, l := range lives {
		if says := "Cannot import " + strings.ReplaceAll(l.kind, "_", " ") + " nothing"; l.never == "" && !strings.Contains(out, says) {
			t.Errorf("nothing says %q", says)
		}
	}
	if n := strings.Count(strings.Join(strings.Fields(out), " "), "the hub has no such"); n != want {
		t.Errorf("%d of %d imports say that the hub has no such object:\n%s", n, want, out)
	}
}
