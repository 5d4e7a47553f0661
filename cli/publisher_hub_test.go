package cli_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/hub/hubtest"
)

// A hub signs people in to another one, with groups: a customer's console by its publisher.
func TestAHubSignsPeopleInToAnotherHub(t *testing.T) {
	// A browser's cookies are of a host, whatever the port.
	publisher := hubtest.New(t, hubtest.Config{AdminToken: "none", Hub: hubtest.HubConfig{Listen: "127.0.0.2:0"}})
	customer := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{AllowHTTPUpstreams: true}})
	folder := t.TempDir()
	t.Setenv("AXLE_CONFIG", filepath.Join(folder, "config.yaml"))
	t.Setenv("BROWSER", "")
	setup, err := os.ReadFile(publisher.SetupTokenFile())
	if err != nil {
		t.Fatal(err)
	}
	ann := newPerson(t)
	page := ann.get(publisher.URL + "/setup?token=" + strings.TrimSpace(string(setup)))
	if page = ann.answers(publisher.URL+"/setup", page, url.Values{"email": {"ann@example.com"}, "password": {"correct horse battery"}, "again": {"correct horse battery"}}); !strings.Contains(page, "The hub is set up") {
		t.Fatal(page)
	}
	out, done := &said{}, make(chan int, 1)
	go func() {
		done <- cli.Run(t.Context(), []string{"login", publisher.URL, "--browser", "--name", "publisher"}, cli.Streams{In: strings.NewReader(""), Out: out, Err: out})
	}()
	page = ann.get(found(t, out, `http://\S+/login/cli\?\S+`))
	ann.answers(publisher.URL+"/login/cli", page, url.Values{"answer": {"allow"}})
	if code := <-done; code != 0 {
		t.Fatalf("%d %s", code, out)
	}
	secret := filepath.Join(folder, "secret")
	if err := os.WriteFile(secret, []byte("a secret of both hubs"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(folder, "token")
	if err := os.WriteFile(token, []byte(customer.AdminToken), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		var out said
		if code := cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); code != 0 {
			t.Fatalf("%s: %d %s", args, code, out.String())
		}
		return out.String()
	}
	there := func(args ...string) string {
		t.Helper()
		return run(append(args, "--hub", customer.URL, "--token-file", token)...)
	}
	for _, group := range []string{"operators", "others"} {
		run("groups", "create", group)
		run("groups", "add-member", group, "ann@example.com")
	}
	run("applications", "apply", "console-acme", "--project", "default", "--client-id", "console-acme", "--client-secret-file", secret, "--groups", "operators", "--bound-groups-only",
		"--redirect-uris", customer.URL+"/login/callback/publisher")
	there("groups", "create", "platform")
	there("providers", "create", "publisher", "--issuer", publisher.URL+"/oidc", "--client-id", "console-acme", "--client-secret-file", secret,
		"--scope", "email,profile,groups", "--groups-claim", "groups", "--group", "operators=platform", "--group", "others=platform")

	// ann has a session of the publisher, so that one answer is all there is to do.
	page = ann.get(customer.URL + "/login/oidc/publisher")
	if !strings.Contains(page, "console-acme") || !strings.Contains(page, "groups that you are in") {
		t.Fatalf("no consent: %s", page)
	}
	ann.answers(publisher.URL+"/oidc/consent", page, url.Values{"answer": {"allow"}})
	if text := there("groups", "get", "platform"); !strings.Contains(text, "ann@example.com") {
		t.Errorf("at the customer's hub: %s", text)
	}
	if page = ann.get(customer.URL + "/login/account"); !strings.Contains(page, "ann@example.com") {
		t.Errorf("no session at the customer's hub: %s", page)
	}

	// Without the group they are in no more, and the page names whom to ask.
	run("groups", "remove-member", "operators", "ann@example.com")
	if page = ann.get(customer.URL + "/login/oidc/publisher"); !strings.Contains(page, "No access to console-acme") || !strings.Contains(page, "Ask ann@example.com for access") {
		t.Errorf("after the group went: %s", page)
	}
}
