package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/chatserver"
	"github.com/axle-cd/axle/test/pages"
)

// received are the bodies that a webhook got.
type received struct {
	mu     sync.Mutex
	bodies []string
}

func (r *received) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	text, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, string(text))
}

func (r *received) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.bodies, "\n")
}

// TestTheNotificationsGuide runs the commands of the guide as they stand there, and then
// an event that goes to Slack, to a webhook and to a person.
func TestTheNotificationsGuide(t *testing.T) {
	all, err := pages.Commands("..", "axle")
	if err != nil {
		t.Fatal(err)
	}
	got := &received{}
	hook, chat := httptest.NewServer(got), chatserver.New()
	defer hook.Close()
	defer chat.Close()
	s := newShell(t)
	t.Chdir(s.dir)
	const secret = "T0KENOFTHEWEBHOOK"
	for name, text := range map[string]string{"slack.url": chat.URL + "/services/T0/B0/" + secret, "ci.url": hook.URL + "/hooks/" + secret, "ci.key": "0123456789abcdef"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, c := range all {
		if c.Page != "docs/howto/notifications.md" || c.Named {
			continue
		}
		ran++
		s.exits(0, strings.Join(c.Words, " "))
	}
	if ran < 15 {
		t.Errorf("only %d commands were found", ran)
	}
	s.exits(6, "notifications sinks create ops --type slack --url-file slack.url", "exists already")
	s.exits(0, "notifications sinks update console --user admin@example.com --group sre")
	s.exits(0, "notifications routers create all --event * --event pr.create --sink ops --sink ci --sink console", "pr.create (nothing makes them yet)")
	s.exits(0, "clusters create edge-1")
	eventually.For(t, patience, "the webhook got the event", func() error {
		if text := got.all(); !strings.Contains(text, `"title":"cluster edge-1 created"`) {
			return fmt.Errorf("it got %s", text)
		}
		return nil
	})
	x := axleCLI{t}
	x.says("notifications sinks get ops -o jsonpath={.sent}", "1")
	if text := string(chat.Accepted()[len(chat.Accepted())-1]); !strings.Contains(text, "cluster edge-1 created") {
		t.Errorf("Slack got %s", text)
	}
	for _, line := range []string{"notifications sinks list -o json", "notifications sinks get ops ci -o yaml", "audit list -o json", "events -o json", "get notificationsinks -o yaml", "export"} {
		if out := s.exits(0, line); strings.Contains(out, secret) || strings.Contains(out, "0123456789abcdef") {
			t.Errorf("axle %s shows a secret", line)
		}
	}
	// What is exported is unchanged, and keeps the URL.
	s.exits(0, "export out")
	s.exits(0, "diff -f out/notificationsinks -f out/notificationrouters", "unchanged")
	s.exits(0, "notifications sinks test ci", "200 OK")
	s.exits(6, "notifications sinks delete ci --yes", "is used by a router")
	s.exits(0, "notifications routers delete all web shop --yes")
	s.exits(0, "notifications sinks delete ci --yes", "deleted")
}

// A tenant manages what is of their project, and nothing else; what they may not see is
// not there.
func TestNotificationsOfProjects(t *testing.T) {
	got := &received{}
	hook := httptest.NewServer(got)
	defer hook.Close()
	h := hubtest.New(t, hubtest.Config{})
	dir := t.TempDir()
	t.Setenv("AXLE_CONFIG", filepath.Join(dir, "config.yaml"))
	t.Setenv("AXLE_HUB_URL", h.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	t.Chdir(dir)
	if err := os.WriteFile("url", []byte(hook.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	x := axleCLI{t}
	for _, project := range []string{"shop", "lab"} {
		x.does("projects create " + project)
		x.does("serviceaccounts create " + project)
		x.does("auth bind --service-account " + project + " --action write --project " + project)
		x.does("notifications sinks create of-" + project + " --type webhook --url-file url --project " + project)
	}
	x.does("notifications sinks create of-hub --type webhook --url-file url")
	_, text := x.run("serviceaccounts", "token", "shop", "--scope", "write,read", "-o", "jsonpath={.secret}")
	t.Setenv("AXLE_TOKEN", strings.TrimSpace(text))
	x.does("notifications sinks list -q", "of-shop")
	if _, list := x.run("notifications", "sinks", "list", "-q"); strings.Contains(list, "of-lab") || strings.Contains(list, "of-hub") {
		t.Errorf("the list shows others: %s", list)
	}
	for _, line := range []string{
		"notifications sinks get of-lab", "notifications sinks test of-lab", "notifications sinks delete of-lab --yes", "notifications sinks update of-hub --url-file url",
		"notifications routers create steal --project shop --event * --sink of-lab", "notifications routers create steal --project shop --event * --sink of-hub",
	} {
		x.fails(line, "does not exist")
	}
	x.fails("notifications routers create steal --event * --sink of-shop", "may not")
	x.fails("notifications sinks create mine --type webhook --url-file url", "may not")
	x.fails("notifications routers create steal --project lab --event * --sink of-shop", "does not exist")
	x.does("notifications routers create mine --project shop --event * --sink of-shop")
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	x.does("clusters create lab-1 --project lab")
	x.does("clusters create shop-1 --project shop")
	eventually.For(t, patience, "the webhook got the event of its project", func() error {
		if text := got.all(); !strings.Contains(text, "shop-1") {
			return fmt.Errorf("it got %s", text)
		}
		return nil
	})
	if text := got.all(); strings.Contains(text, "lab-1") {
		t.Errorf("it got what is of another project: %s", text)
	}
}
