package hub_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity/account"
)

// flows is a browser with a session of a hub, and an application.
type flows struct {
	b      *testing.B
	h      *hubtest.Hub
	client *http.Client
	cookie string
}

const benchCallback, benchSecret = "http://127.0.0.1:1/cb", "a secret of the former provider"

// do makes a request from an address that has a share of its own.
func (f *flows) do(method, at, cookie string, form url.Values) (string, http.Header) {
	f.b.Helper()
	r, err := http.NewRequestWithContext(f.b.Context(), method, at, strings.NewReader(form.Encode()))
	if err != nil {
		f.b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("%d.%d.%d.1", 11+rand.IntN(80), rand.IntN(250), rand.IntN(250)))
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	answer, err := f.client.Do(r)
	if err != nil {
		f.b.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.b.Fatal(err)
	}
	if answer.StatusCode >= 400 {
		f.b.Fatalf("%s %s: %d %s", method, at, answer.StatusCode, text)
	}
	return string(text), answer.Header
}

func (f *flows) authorize(app int) (string, http.Header) {
	query := url.Values{"client_id": {fmt.Sprint("bench-", app)}, "redirect_uri": {benchCallback}, "response_type": {"code"}, "scope": {"openid email groups offline_access"}}
	return f.do(http.MethodGet, f.h.URL+"/oidc/authorize?"+query.Encode(), f.cookie, nil)
}

// flow is a login by the session that there is: a code, and its tokens.
func (f *flows) flow(app int) (refresh string) {
	f.b.Helper()
	_, header := f.authorize(app)
	back, err := url.Parse(header.Get("Location"))
	if err != nil || back.Query().Get("code") == "" {
		f.b.Fatalf("led to %q", header.Get("Location"))
	}
	return f.token(app, url.Values{"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {benchCallback}})
}

func (f *flows) token(app int, form url.Values) (refresh string) {
	f.b.Helper()
	form.Set("client_id", fmt.Sprint("bench-", app))
	form.Set("client_secret", benchSecret)
	text, _ := f.do(http.MethodPost, f.h.URL+"/oidc/token", "", form)
	var answer struct {
		RefreshToken string `json:"refresh_token"`
		IDToken      string `json:"id_token"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.RefreshToken == "" || answer.IDToken == "" {
		f.b.Fatalf("%v: %s", err, text)
	}
	return answer.RefreshToken
}

// perCore is how often something is done in a second of one core of this process: hub, database and client.
func (f *flows) perCore(n int, do func(i int)) float64 {
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			f.b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := cpu()
	for i := range n {
		do(i)
	}
	return float64(n) / (cpu() - began).Seconds()
}

// BenchmarkSignIns counts code flows with a session, and refreshes, for each second of one core,
// beside answers of the same sizes that a server has ready, and logins by password.
func BenchmarkSignIns(b *testing.B) {
	h := hubtest.New(b, hubtest.Config{Hub: hub.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	f := &flows{b: b, h: h, client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	call := func(path, body string) {
		b.Helper()
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, h.URL+"/axle.hub.v1."+path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+h.AdminToken)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
			b.Fatalf("%s: %s", path, text)
		}
	}
	const apps, password = 20, "correct horse battery staple"
	parts := h.Parts()
	u, err := parts.Identity.UserByName(b.Context(), hubtest.Admin)
	if err != nil {
		b.Fatal(err)
	}
	session, err := parts.Accounts.StartSession(b.Context(), u, account.SessionTerms{Method: account.MethodPassword, ProvedAt: time.Now().UnixMicro()}, "")
	if err != nil {
		b.Fatal(err)
	}
	f.cookie = "axle-session=" + session.Secret
	for app := range apps {
		call("Applications/Apply", fmt.Sprintf(`{"name": "bench-%d", "settings": {"project": "default", "clientId": "bench-%d", "clientSecret": %q, "redirectUris": [%q], "users": [%q]}}`, app, app, benchSecret, benchCallback, hubtest.Admin))
		page, header := f.authorize(app)
		form := url.Values{"answer": {"allow"}}
		for _, m := range consentField.FindAllStringSubmatch(page, -1) {
			form.Set(m[1], html.UnescapeString(m[2]))
		}
		cookie := f.cookie
		for _, c := range (&http.Response{Header: header}).Cookies() {
			cookie += "; " + c.Name + "=" + c.Value
		}
		f.do(http.MethodPost, h.URL+"/oidc/consent", cookie, form)
	}
	var page, answer string
	still := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Location", page)
			w.WriteHeader(http.StatusSeeOther)
			return
		}
		_ = r.ParseForm()
		_, _ = io.WriteString(w, answer)
	}))
	defer still.Close()
	page, answer = benchCallback+"?code="+strings.Repeat("c", 60), strings.Repeat("t", 1500)
	refreshes := make([]string, apps)
	for app := range apps {
		refreshes[app] = f.flow(app)
	}
	const n = 600
	for b.Loop() {
		flow := f.perCore(n, func(i int) { f.flow(i % apps) })
		refresh := f.perCore(n, func(i int) {
			refreshes[i%apps] = f.token(i%apps, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refreshes[i%apps]}})
		})
		form := url.Values{"grant_type": {"authorization_code"}, "code": {strings.Repeat("c", 60)}, "client_id": {"bench-1"}, "client_secret": {benchSecret}}
		plainRefresh := f.perCore(n, func(int) { f.do(http.MethodPost, still.URL+"/token", "", form) })
		plainFlow := f.perCore(n, func(int) {
			f.do(http.MethodGet, still.URL+"/authorize", f.cookie, nil)
			f.do(http.MethodPost, still.URL+"/token", "", form)
		})
		logins := f.perCore(10, func(int) {
			// A wrong one costs as much as a right one.
			if _, _, err := parts.Accounts.CheckPassword(b.Context(), hubtest.Admin, password); err == nil {
				b.Fatal("a wrong password was right")
			}
		})
		b.ReportMetric(flow, "flows/core-s")
		b.ReportMetric(refresh, "refreshes/core-s")
		b.ReportMetric(plainFlow, "plain-flows/core-s")
		b.ReportMetric(plainRefresh, "plain-refreshes/core-s")
		b.ReportMetric(logins, "passwords/core-s")
	}
}
