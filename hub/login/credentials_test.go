package login_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/identity/federation"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/oidcserver"
)

// The kinds of access that docs/login.md lists, all held by one user.
type credentials struct {
	*bed
	browser *visitor
	idp     *oidcserver.Server
	user    identity.User
	// good reports whether each still opens something.
	good map[string]func() bool
	// api is the API token that some are made with.
	api identity.CreatedToken
}

const bobsPassword = "bob has a password as well"

// newCredentials is a person with a session through a provider, a password of the
// hub's own, and everything that can be made from there.
func newCredentials(t *testing.T) *credentials {
	t.Helper()
	w := &credentials{bed: &bed{t: t, clock: &shifted{}}, good: map[string]func() bool{}}
	w.Hub = hubtest.New(t, hubtest.Config{AdminToken: "none", Hub: hubtest.HubConfig{
		Clock: w.clock, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTPUpstreams: true,
	}})
	if _, err := w.identity().SetupLocal(t.Context(), w.setupToken(), owner, password); err != nil {
		t.Fatal(err)
	}
	w.idp = w.provider("idp", nil, bob)
	w.browser = w.visitor("198.51.100.60")
	w.browser.through("idp", w.idp, bob)
	d := w.identity()
	if _, err := d.SetAdmin(t.Context(), owner, bob.Email, true); err != nil {
		t.Fatal(err)
	}
	link, _, err := d.PrepareReset(t.Context(), identity.Principal{Name: "test"}, bob.Email, false)
	if err != nil {
		t.Fatal(err)
	}
	if w.user, err = d.ResetPassword(t.Context(), link.Secret, bobsPassword); err != nil {
		t.Fatal(err)
	}
	w.browser.through("idp", w.idp, bob)
	if w.browser.who() != bob.Email {
		t.Fatalf("%d %s", w.browser.status, w.browser.page)
	}
	w.people()
	w.programs()
	w.clusters()
	return w
}

// token records access by a token, and returns the token.
func (w *credentials) token(name string, made identity.CreatedToken, err error) identity.CreatedToken {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(name, err)
	}
	w.good[name] = func() bool {
		// A bootstrap token has the hub's key after the part that the hub
		// knows.
		_, err := w.identity().Authenticate(w.t.Context(), bootstrap.Secret(made.Secret))
		if err != nil && !errcode.Is(err, errcode.Unauthorized) {
			w.t.Error(name, err)
		}
		return err == nil
	}
	return made
}

func (w *credentials) people() {
	t, d, ctx := w.t, w.identity(), w.t.Context()
	session := w.session(w.browser)
	w.good["session of a browser"] = func() bool {
		_, err := d.AuthenticateSession(t.Context(), w.browser.sessionCookie())
		return err == nil
	}
	code, err := d.AllowCLI(ctx, session, account.CLIRequest{Challenge: challenge("verifier")})
	if err != nil {
		t.Fatal(err)
	}
	made, err := d.ExchangeCode(ctx, code, "verifier")
	cli := w.token("command line, by browser", made, err)
	started, err := d.StartDevice(ctx, "198.51.100.61", account.CLIRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.AnswerDevice(ctx, session, started.UserCode, true); err != nil {
		t.Fatal(err)
	}
	_, _, made, err = d.PollDevice(ctx, started.Code)
	w.token("command line, by code", made, err)
	made, err = d.CreateToken(ctx, w.principal(cli.Secret), identity.TokenRequest{Name: "of a command line"})
	w.token("API token made with a command line", made, err)
	made, err = d.CreateToken(ctx, session, identity.TokenRequest{Name: "of a session"})
	w.api = w.token("API token made in a session", made, err)
	made, err = d.CreateToken(ctx, w.principal(w.api.Secret), identity.TokenRequest{Name: "of a token"})
	w.token("API token made with that", made, err)
	made, err = d.CreateBootstrapToken(ctx, session, agentkey.BootstrapRequest{})
	w.token("bootstrap token made in a session", made, err)
	made, err = d.CreateBootstrapToken(ctx, w.principal(w.api.Secret), agentkey.BootstrapRequest{})
	w.token("bootstrap token made with an API token", made, err)
	w.credential("cluster credential of a command line", cli)
}

// programs adds the access of programs that a person left running.
func (w *credentials) programs() {
	t, d, ctx := w.t, w.identity(), w.t.Context()
	by := w.principal(w.api.Secret)
	if _, err := d.CreateServiceAccount(ctx, by, "bot", false); err != nil {
		t.Fatal(err)
	}
	made, err := d.CreateServiceAccountToken(ctx, by, "bot", identity.TokenRequest{Name: "run"})
	bot := w.token("service account's token, made with an API token", made, err)
	made, err = d.CreateToken(ctx, w.principal(bot.Secret), identity.TokenRequest{Name: "more"})
	w.token("service account's token, made with its own", made, err)
	_, err = d.CreateTrust(ctx, by, federation.Trust{Name: "ci", Issuer: w.idp.URL, Audience: "hub", Account: "bot", Claims: map[string]string{"sub": "job-1"}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	job, err := w.idp.Sign(map[string]any{"iss": w.idp.URL, "aud": "hub", "sub": "job-1", "iat": now, "exp": now + 1800, "jti": "1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err = d.Exchange(ctx, "ci", job)
	w.token("token exchanged for a CI's", made, err)
}

func (w *credentials) clusters() {
	w.credential("cluster credential of an API token", w.api)
	ticket := w.call(w.api.Secret, "ClusterAPI/CreateTicket", map[string]any{"cluster": "edge", "path": "/api/v1/pods"})["ticket"]
	w.good["ticket of an API token"] = func() bool {
		return w.opens("/ws/proxy?ticket="+url.QueryEscape(fmt.Sprint(ticket)), http.Header{
			"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="},
		})
	}
}

func (w *credentials) credential(name string, by identity.CreatedToken) {
	if _, err := w.Parts().Fleet.ClusterNamed(w.t.Context(), "edge"); err != nil {
		w.call(by.Secret, "Clusters/Create", map[string]any{"name": "edge"})
	}
	credential := w.call(by.Secret, "ClusterAPI/CreateCredential", map[string]any{"cluster": "edge"})["token"]
	w.good[name] = func() bool {
		return w.opens("/k8s/clusters/edge/api", http.Header{"Authorization": {"Bearer " + fmt.Sprint(credential)}})
	}
}

// call calls the hub's API.
func (w *credentials) call(token, procedure string, request any) (answer map[string]any) {
	w.t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.URL+"/axle.hub.v1."+procedure, bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	response, err := w.browser.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || json.Unmarshal(text, &answer) != nil {
		w.t.Fatalf("%s: %s %s %v", procedure, response.Status, text, err)
	}
	return answer
}

// opens reports whether the request to a cluster is authorized: without an
// agent it gets another error.
func (w *credentials) opens(path string, header http.Header) bool {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	switch answer.StatusCode {
	case http.StatusServiceUnavailable, http.StatusBadGateway:
		return true
	case http.StatusUnauthorized:
		return false
	}
	w.t.Fatalf("%s: %s %s", path, answer.Status, text)
	return false
}

// out are the calls that end credentials.
func (w *credentials) out() map[string]func() error {
	t, d := w.t, w.identity()
	return map[string]func() error{
		"log out here": func() error {
			w.browser.get("/logout")
			w.browser.post("/logout", url.Values{})
			return nil
		},
		"everywhere": func() error {
			w.browser.get("/logout")
			w.browser.post("/logout", url.Values{"everywhere": {"1"}})
			return nil
		},
		"everywhere, tokens too": func() error {
			_, err := d.EndSessions(t.Context(), w.session(w.browser), "", true)
			return err
		},
		"new password": func() error {
			return d.ChangePassword(t.Context(), w.session(w.browser), bobsPassword, fresh, false)
		},
		"reset": func() error {
			_, _, err := d.PrepareReset(t.Context(), identity.Principal{Name: "test"}, bob.Email, false)
			return err
		},
		"logout at the provider": func() error {
			v := w.tell("198.51.100.62", "idp", w.idp, map[string]any{
				"iss": w.idp.URL, "aud": "axle", "iat": time.Now().Unix(), "exp": time.Now().Unix() + 120, "jti": "out", "sub": bob.Subject,
				"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
			}, nil)
			if v.status != http.StatusOK {
				return fmt.Errorf("%d %s", v.status, v.page)
			}
			return nil
		},
		"API token revoked": func() error { return d.RevokeToken(t.Context(), w.session(w.browser), w.api.ID) },
		"account deleted":   func() error { return d.DeleteUser(t.Context(), owner, bob.Email) },
		"unused 12 h":       func() error { w.later(12*time.Hour + time.Minute); return nil },
		"after 7 days":      func() error { w.later(7*24*time.Hour + time.Minute); return nil },
	}
}

// documented reads the table of docs/login.md: what ends, by kind of access and
// by event.
func documented(t *testing.T) (outs []string, ends map[string]map[string]bool) {
	t.Helper()
	text, err := os.ReadFile("../../docs/login.md")
	if err != nil {
		t.Fatal(err)
	}
	ends = map[string]map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == "way in":
			outs = cells[1:]
		case outs != nil && len(cells) == len(outs)+1 && cells[0] != "---":
			ends[cells[0]] = map[string]bool{}
			for i, out := range outs {
				ends[cells[0]][out] = cells[i+1] == "ends"
			}
		case outs != nil && cells[0] == "" && len(ends) > 0:
			return outs, ends
		}
	}
	t.Fatal("docs/login.md has no table of what ends which credentials")
	return nil, nil
}

// Every kind of access ends exactly with the events that docs/login.md lists
// for it.
func TestEveryWayInEndsAsDocumented(t *testing.T) {
	outs, ends := documented(t)
	for _, out := range outs {
		t.Run(out, func(t *testing.T) {
			w := newCredentials(t)
			do := w.out()[out]
			if do == nil || len(w.out()) != len(outs) || len(w.good) != len(ends) {
				t.Fatalf("the test knows %d calls that end %d kinds of credentials, the page %d and %d", len(w.out()), len(w.good), len(outs), len(ends))
			}
			if err := do(); err != nil {
				t.Fatal(err)
			}
			for in, good := range w.good {
				want, known := ends[in]
				if got := !good(); !known || got != want[out] {
					t.Errorf("%s: ended is %v, the page says %v (%v)", in, got, want[out], known)
				}
			}
		})
	}
}

// What a program has ends with its account and with its trust.
func TestProgramsEndWithTheirAccountAndTrust(t *testing.T) {
	exchanged := []string{"token exchanged for a CI's"}
	all := append([]string{"service account's token, made with an API token", "service account's token, made with its own"}, exchanged...)
	for name, tc := range map[string]struct {
		do   func(d identities, by identity.Principal) error
		ends []string
	}{
		"account": {func(d identities, by identity.Principal) error {
			return d.DeleteServiceAccount(t.Context(), by, "bot")
		}, all},
		"trust": {func(d identities, by identity.Principal) error { return d.DeleteTrust(t.Context(), by, "ci") }, exchanged},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCredentials(t)
			if err := tc.do(w.identity(), w.principal(w.api.Secret)); err != nil {
				t.Fatal(err)
			}
			for in, good := range w.good {
				if got := !good(); got != slices.Contains(tc.ends, in) {
					t.Errorf("%s: ended is %v", in, got)
				}
			}
		})
	}
}
