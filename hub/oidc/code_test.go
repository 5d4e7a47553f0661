package oidc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// party is a relying party on npm's openid-client.
type party struct {
	t   *testing.T
	in  *json.Encoder
	out *bufio.Scanner
}

// openidClient starts one for the issuer of a bed.
func (b *bed) openidClient(id, secret string) (*party, map[string]any) {
	b.T.Helper()
	folder := filepath.Join("..", "..", "test", "oidc")
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "openid-client")); err != nil {
		b.T.Fatalf("openid-client is missing, which make deps installs: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, "node", "openid-client.mjs", b.url+"/oidc")
	c.Dir, c.Stderr = folder, b.T.Output()
	in, err := c.StdinPipe()
	if err != nil {
		b.T.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.T.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() {
		stop()
		_ = c.Wait()
	})
	p := &party{b.T, json.NewEncoder(in), bufio.NewScanner(out)}
	p.out.Buffer(nil, 1<<20)
	return p, p.do("discover", map[string]any{"id": id, "secret": secret})
}

// ask runs a step, and returns what it answered.
func (p *party) ask(step string, arguments map[string]any) (ok any, failed, description string) {
	p.t.Helper()
	arguments["step"] = step
	if err := p.in.Encode(arguments); err != nil {
		p.t.Fatal(err)
	}
	if !p.out.Scan() {
		p.t.Fatalf("%s: the relying party ended: %v", step, p.out.Err())
	}
	var answer struct {
		OK                        any
		Error, Description, Cause string
	}
	if err := json.Unmarshal(p.out.Bytes(), &answer); err != nil {
		p.t.Fatal(err)
	}
	return answer.OK, answer.Error, answer.Description + " " + answer.Cause
}

// do is ask for a step that succeeds.
func (p *party) do(step string, arguments map[string]any) map[string]any {
	p.t.Helper()
	ok, failed, description := p.ask(step, arguments)
	if failed != "" {
		p.t.Fatalf("%s: %s: %s", step, failed, description)
	}
	object, _ := ok.(map[string]any)
	return object
}

// address is do for a step that answers with a URL.
func (p *party) address(step string, arguments map[string]any) string {
	p.t.Helper()
	ok, failed, description := p.ask(step, arguments)
	text, is := ok.(string)
	if !is {
		p.t.Fatalf("%s: %s: %s", step, failed, description)
	}
	return text
}

func deep(of map[string]any, path ...string) any {
	var at any = of
	for _, name := range path {
		object, _ := at.(map[string]any)
		at = object[name]
	}
	return at
}

// TestOpenIDClientLogsIn lets a library that others wrote log in, with each kind of client,
// over replicas in turn.
func TestOpenIDClientLogsIn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		u := b.user("bob@example.com")
		for id, secret := range map[string]string{app: secret, native: ""} {
			redirect, algorithm := plainCallback, "RS256"
			if secret == "" {
				redirect, algorithm = "http://127.0.0.1:4711/cb", "ES256"
			}
			p, found := b.openidClient(id, secret)
			if grants, _ := found["grant_types_supported"].([]any); slices.Contains(grants, any("implicit")) {
				t.Errorf("the implicit grant is announced: %v", grants)
			}
			v := b.visitor("bob@example.com")
			v.get(p.address("authorize", map[string]any{"parameters": map[string]any{"redirect_uri": redirect, "scope": "openid profile email groups offline_access"}}))
			v.answer("allow")
			back := v.header.Get("Location")
			if !strings.HasPrefix(back, redirect) {
				t.Fatalf("sent to %q", back)
			}
			got := p.do("trade", map[string]any{"url": back})
			if deep(got, "claims", "sub") != u.ID || deep(got, "claims", "email") != u.Name || deep(got, "claims", "sid") == nil {
				t.Errorf("claims %v", got["claims"])
			}
			idToken, _ := deep(got, "tokens", "id_token").(string)
			if a := headOf(t, idToken)["alg"]; a != algorithm {
				t.Errorf("signed with %v, want %s", a, algorithm)
			}
			info := p.do("userinfo", map[string]any{"token": deep(got, "tokens", "access_token"), "subject": u.ID})
			if info["email"] != u.Name || info["email_verified"] != true || info["name"] != u.Name {
				t.Errorf("userinfo %v", info)
			}
			again := p.do("refresh", map[string]any{"token": deep(got, "tokens", "refresh_token")})
			if deep(again, "claims", "sub") != u.ID || deep(again, "claims", "sid") != deep(got, "claims", "sid") || deep(again, "tokens", "refresh_token") == deep(got, "tokens", "refresh_token") {
				t.Errorf("refreshed %v", again)
			}
			if _, failed, _ := p.ask("trade", map[string]any{"url": back}); failed != "invalid_grant" {
				t.Errorf("a code that was used: %q", failed)
			}
		}
	})
}

func headOf(t *testing.T, token string) map[string]any {
	t.Helper()
	head, _, _ := strings.Cut(token, ".")
	return claimsOf(t, "."+head+".")
}

// replicasOn returns how many replicas a database can have.
func replicasOn(d storetest.Database) int {
	if d.IsPostgres() {
		return 3
	}
	return 1
}

// A code works once, and then ends what it gave.
func TestACodeThatIsUsedTwiceEndsTheLogin(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		b.user("bob@example.com")
		code := b.visitor("bob@example.com").authorize(nil).Get("code")
		answers := make(chan answer, 6)
		for range 6 {
			go func() { answers <- b.trade(code) }()
		}
		var good []answer
		for range 6 {
			if a := <-answers; a.status == 200 {
				good = append(good, a)
			} else if a.text("error") != "invalid_grant" {
				t.Errorf("%d %v", a.status, a.body)
			}
		}
		if len(good) > 1 {
			t.Fatalf("a code was traded %d times", len(good))
		}
		for _, a := range good {
			if a := b.userinfo(a.text("access_token")); a.status != 401 {
				t.Errorf("an access token of a code that was used twice: %d", a.status)
			}
		}
	})
}

// A refresh token is replaced by each use. Who repeats a request whose answer was lost gets
// the same tokens; who comes later with a token that was used ends the login.
func TestARefreshTokenIsUsedOnce(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		b.user("bob@example.com")
		first := b.trade(b.visitor("bob@example.com").authorize(nil).Get("code")).text("refresh_token")
		lost, second := b.refresh(first), b.refresh(first)
		if lost.status != 200 || second.text("refresh_token") != lost.text("refresh_token") {
			t.Fatalf("a repeated request: %v, %v", lost, second)
		}
		third := b.refresh(second.text("refresh_token"))
		if third.status != 200 {
			t.Fatalf("the successor: %v", third)
		}
		if a := b.refresh(first); a.text("error") != "invalid_grant" {
			t.Errorf("a token whose successor was used: %v", a)
		}
		if a := b.refresh(third.text("refresh_token")); a.text("error") != "invalid_grant" {
			t.Errorf("the last token after a reuse: %v", a)
		}
		if a := b.userinfo(third.text("access_token")); a.status != 401 {
			t.Errorf("an access token after a reuse: %v", a)
		}

		late := b.trade(b.visitor("bob@example.com").authorize(nil).Get("code")).text("refresh_token")
		next := b.refresh(late)
		b.Fleet.Clock.Advance(31e9)
		if a := b.refresh(late); a.text("error") != "invalid_grant" {
			t.Errorf("a token that was used half a minute ago: %v", a)
		}
		if a := b.refresh(next.text("refresh_token")); a.text("error") != "invalid_grant" {
			t.Errorf("its successor: %v", a)
		}
	})
}

// Whom the application does not let in gets a page that names whom to ask.
func TestOnlyThoseWhoAreLetInLogIn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, 1)
		b.user("bob@example.com")
		b.AddUser("eve@example.com")
		v := b.visitor("eve@example.com")
		v.get(b.url + "/oidc/authorize?" + asked(nil).Encode())
		if v.status != 403 || !strings.Contains(v.page, "Ask olga@example.com for access") {
			t.Errorf("somebody who is not on the list: %d %s", v.status, v.page)
		}
		if q := v.authorize(map[string]string{"prompt": "none"}); q.Get("error") != "access_denied" || q.Get("state") != "st" || q.Get("iss") != b.url+"/oidc" {
			t.Errorf("silently: %v", q)
		}
		tokens := b.trade(b.visitor("bob@example.com").authorize(nil).Get("code"))
		b.clients.change(app, func(c *application.Client) { c.Users = nil })
		if a := b.refresh(tokens.text("refresh_token")); a.text("error") != "invalid_grant" {
			t.Errorf("a refresh after the binding ended: %v", a)
		}
		if a := b.userinfo(tokens.text("access_token")); a.status != 403 {
			t.Errorf("userinfo after the binding ended: %v", a)
		}
	})
}

// The endpoint leads to the hub's login and back.
func TestTheHubsLoginLeadsBack(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, 1)
		v := b.visitor("")
		v.get(b.url + "/oidc/authorize?" + asked(nil).Encode())
		next, err := url.Parse(v.url.Query().Get("next"))
		if err != nil || v.url.Path != "/login" || next.Path != "/oidc/authorize" || next.Query().Get("state") != "st" {
			t.Errorf("led to %s", v.url)
		}
		if q := v.authorize(map[string]string{"prompt": "none"}); q.Get("error") != "login_required" {
			t.Errorf("silently: %v", q)
		}
	})
}
