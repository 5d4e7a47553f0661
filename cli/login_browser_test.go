package cli_test

import (
	"bytes"
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
)

// said is the output of a command so far.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// person is a user with a browser without scripts.
type person struct {
	t      *testing.T
	client *http.Client
}

func newPerson(t *testing.T) *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, &http.Client{Jar: jar, Timeout: time.Minute}}
}

func (p *person) page(answer *http.Response, err error) string {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(body)
}

func (p *person) get(address string) string { return p.page(p.client.Get(address)) }

var hidden = regexp.MustCompile(`type="hidden" name="([^"]+)" value="([^"]*)"`)

// answers sends the form of a page with its hidden fields.
func (p *person) answers(address, page string, with url.Values) string {
	for _, m := range hidden.FindAllStringSubmatch(page, -1) {
		if !with.Has(m[1]) {
			with.Set(m[1], html.UnescapeString(m[2]))
		}
	}
	return p.page(p.client.PostForm(address, with))
}

// found waits until a command has printed something.
func found(t *testing.T, s *said, pattern string) string {
	t.Helper()
	var got string
	eventually.For(t, time.Minute, "the command says "+pattern, func() error {
		if got = regexp.MustCompile(pattern).FindString(s.String()); got == "" {
			return context.DeadlineExceeded
		}
		return nil
	})
	return got
}

func TestLoginByBrowserAndByDevice(t *testing.T) {
	hub := hubtest.New(t, hubtest.Config{AdminToken: "none"})
	t.Setenv("AXLE_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("BROWSER", "")
	token, err := os.ReadFile(hub.SetupTokenFile())
	if err != nil {
		t.Fatal(err)
	}
	ann := newPerson(t)
	page := ann.get(hub.URL + "/setup?token=" + strings.TrimSpace(string(token)))
	page = ann.answers(hub.URL+"/setup", page, url.Values{"email": {"ann@example.com"}, "password": {"correct horse battery"}, "again": {"correct horse battery"}})
	if !strings.Contains(page, "The hub is set up") {
		t.Fatal(page)
	}
	run := func(args ...string) (string, int) {
		t.Helper()
		var out said
		code := cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
		return out.String(), code
	}
	begin := func(args ...string) (*said, chan int) {
		out, done := &said{}, make(chan int, 1)
		go func() { done <- cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: out, Err: out}) }()
		return out, done
	}

	out, done := begin("login", hub.URL, "--browser", "--name", "desk", "--scope", "read", "--expires", "1h")
	address := found(t, out, `http://\S+/login/cli\?\S+`)
	page = ann.get(address)
	if !strings.Contains(page, "Allow the command line?") {
		t.Fatal(page)
	}
	if page = ann.answers(hub.URL+"/login/cli", page, url.Values{"answer": {"allow"}}); !strings.Contains(page, "You are logged in") {
		t.Fatal(page)
	}
	if code := <-done; code != 0 || !strings.Contains(out.String(), "as ann@example.com") {
		t.Fatalf("%d %s", code, out)
	}
	if text, code := run("whoami"); code != 0 || !strings.Contains(text, "ann@example.com") || !strings.Contains(text, "read") || strings.Contains(text, "write") {
		t.Errorf("%d %s", code, text)
	}

	out, done = begin("login", hub.URL, "--device", "--name", "server")
	code := found(t, out, `[A-Z]{4}-[A-Z]{4}`)
	page = ann.get(hub.URL + "/device?code=" + code)
	if page = ann.answers(hub.URL+"/device", page, url.Values{"answer": {"allow"}}); !strings.Contains(page, "is logged in as ann@example.com") {
		t.Fatal(page)
	}
	if code := <-done; code != 0 {
		t.Fatalf("%d %s", code, out)
	}
	text, exit := run("sessions", "list")
	if exit != 0 || strings.Count(text, " cli ") != 2 || !strings.Contains(text, "session") {
		t.Errorf("%d %s", exit, text)
	}
	if text, exit := run("logout", "desk"); exit != 0 || !strings.Contains(text, "the login has ended") {
		t.Errorf("%d %s", exit, text)
	}
	if text, _ := run("sessions", "list"); strings.Count(text, " cli ") != 1 {
		t.Errorf("the login lives on: %s", text)
	}
	if text, exit := run("logout", "--tokens"); exit == 0 || !strings.Contains(text, "without --everywhere") {
		t.Errorf("%d %s", exit, text)
	}
	if text, exit := run("tokens", "create", "of-a-login"); exit != 0 || !strings.Contains(text, "until the token or login that created it ends") {
		t.Errorf("%d %s", exit, text)
	}
	if text, exit := run("tokens", "create", "longer", "--expires", "720h"); exit == 0 || !strings.Contains(text, "/login/account") {
		t.Errorf("%d %s", exit, text)
	}
	if text, exit := run("sessions", "end", "--tokens", "tok_x"); exit == 0 || !strings.Contains(text, "without --all") {
		t.Errorf("%d %s", exit, text)
	}
	if text, exit := run("logout", "--everywhere", "--tokens"); exit != 0 || !strings.Contains(text, "3 sessions, command-line logins and tokens") {
		t.Errorf("%d %s", exit, text)
	}
	if page := ann.get(hub.URL + "/login/account"); !strings.Contains(page, "Log in") {
		t.Errorf("the browser is still logged in: %s", page)
	}

	// A no in the browser is told.
	page = ann.get(hub.URL + "/login")
	ann.answers(hub.URL+"/login", page, url.Values{"email": {"ann@example.com"}, "password": {"correct horse battery"}})
	out, done = begin("login", hub.URL, "--browser")
	page = ann.get(found(t, out, `http://\S+/login/cli\?\S+`))
	ann.answers(hub.URL+"/login/cli", page, url.Values{"answer": {"deny"}})
	if code := <-done; code != exitcode.Denied || !strings.Contains(out.String(), "refused in the browser") {
		t.Errorf("%d %s", code, out)
	}
}
