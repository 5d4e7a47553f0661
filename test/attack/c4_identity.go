package attack

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"

	"github.com/axle-cd/axle/test/oidcserver"
)

// mallory is an account at a provider.
var mallory = oidcserver.User{Subject: "s-mallory", Name: "mallory", Password: "guest", Email: "mallory@example.com"}

var redirects = Attack{
	Class: "C4", Name: "redirect-of-an-api-server", Needs: Cluster,
	Story: "Somebody who took over a cluster's API server answers with a redirect, and wants the token that kubectl sends along.",
	Play: func(p *Play) string {
		for n, to := range []string{"https://evil.example.com/", "//evil.example.com/", "/../other/api/v1/secrets"} {
			path := fmt.Sprintf("/api/v1/namespaces/default/pods/redirected-%d", n)
			p.Bed.front.sendAway(path, to)
			a := p.admin().send(p.ctx, http.MethodGet, api(path), "", nil)
			if at := a.header.Get("Location"); strings.Contains(at, "evil.example.com") || at != "" && !strings.HasPrefix(at, api("/api")) {
				return "kubectl goes with its token to " + at
			}
			if !p.Bed.front.saw(path) {
				p.fail("the request did not come to the API server: %d: %s", a.status, a.text)
			}
		}
		return ""
	},
}

var kelvin = Attack{
	Class: "C4", Name: "kelvin-sign", Needs: Bed,
	Story: "Somebody with an account at a login provider has the address of a colleague with the Kelvin sign, which Unicode makes a small k.",
	Play: func(p *Play) string {
		p.person("kim", "")
		idp := p.provider("", mallory)
		idp.Tamper(func(k *oidcserver.Token) {
			k.Claims["email"], k.Claims["email_verified"] = strings.Replace(p.fill("<<kim>>@example.com"), "kim", "\u212aim", 1), true
		})
		if who := p.logIn(idp, mallory); who == p.fill("<<kim>>@example.com") {
			return "logged in as " + who
		}
		return ""
	},
}

var unverified = Attack{
	Class: "C4", Name: "unverified-address", Needs: Bed,
	Story: "Where unverified addresses may log in, somebody logs in with the address of a colleague who did not come yet, and wants what is bound to it.",
	Play: func(p *Play) string {
		idp := p.provider(`, "allowUnverified": true`, mallory)
		idp.Tamper(func(k *oidcserver.Token) {
			k.Claims["email"], k.Claims["email_verified"] = p.fill("<<carol>>@example.com"), false
		})
		if who := p.logIn(idp, mallory); who == p.fill("<<carol>>@example.com") {
			return "the name " + who + ", before its owner has it"
		}
		return ""
	},
}

var federated = Attack{
	Class: "C4", Name: "pattern-for-everything", Needs: API,
	Story: "A trust of a CI has a pattern that matches everything in another spelling than *, and any repository there may act as its account.",
	Play: func(p *Play) string {
		p.admin().must("ServiceAccounts/Create", `{"name": "<<bot>>"}`)
		p.later("ServiceAccounts/Delete", `{"name": "<<bot>>"}`)
		for _, pattern := range []string{"*", "**", "?*", "*?*", "/.*/", "/.+/", "/(?s).*/", "/(a|.*)/", "/[^\\\\x00]*/", "/.{0,1000}/"} {
			if p.admin().call("Federation/Create", `{"name": "<<trust>>", "issuer": "https://ci.example.com", "audience": "axle", "account": "<<bot>>", "scopes": ["read"], "claims": {"sub": %s}}`, quoted(pattern)).ok() {
				p.later("Federation/Delete", `{"name": "<<trust>>"}`)
				return "every job of the CI acts as the account, by the pattern " + pattern
			}
		}
		return ""
	},
}

var exchangedToken = Attack{
	Class: "C4", Name: "token-of-another-application", Needs: Bed,
	Story: "Somebody with an application found a person's access token of an application of another project, and exchanges it for a token of theirs.",
	Play: func(p *Play) string {
		const secret = "a secret of the former provider"
		codes := make(chan string, 1)
		callback := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case codes <- r.FormValue("code"):
			default: // only the first one is used
			}
		}))
		p.ended(callback.Close)
		_, _ = p.project("shop"), p.project("lab")
		for _, app := range [][2]string{{"orders", "shop"}, {"stock", "shop"}, {"thief", "lab"}} {
			p.admin().must("Applications/Apply", `{"name": "<<%[1]s>>", "settings": {"project": "<<%[2]s>>", "clientId": "<<%[1]s>>", "clientSecret": %[3]q, "redirectUris": [%[4]q], "users": ["<<ada>>@example.com"]}}`, app[0], app[1], secret, callback.URL)
		}
		idp := p.provider("", mallory)
		idp.Tamper(func(k *oidcserver.Token) {
			k.Claims["email"], k.Claims["email_verified"] = p.fill("<<ada>>@example.com"), true
		})
		b := p.browse(idp, mallory)
		p.admin().must("Bindings/Create", `{"subjectKind": "user", "subject": "<<ada>>@example.com", "actions": ["read"], "place": {}}`)
		page := b.open(http.MethodGet, p.URL+"/oidc/authorize?"+url.Values{"client_id": {p.my("orders")}, "redirect_uri": {callback.URL}, "response_type": {"code"}, "scope": {"openid email"}}.Encode(), nil)
		if consent := consentFields.FindAllStringSubmatch(page, -1); consent != nil {
			form := url.Values{"answer": {"allow"}}
			for _, m := range consent {
				form.Set(m[1], html.UnescapeString(m[2]))
			}
			page = b.open(http.MethodPost, p.URL+"/oidc/consent", form)
		}
		token := func(app string, form url.Values) string {
			form.Set("client_id", p.my(app))
			form.Set("client_secret", secret)
			page = b.open(http.MethodPost, p.URL+"/oidc/token", form)
			if found := accessToken.FindStringSubmatch(page); found != nil {
				return found[1]
			}
			return ""
		}
		exchange := func(app, found string) string {
			return token(app, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {found}, "subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}})
		}
		select {
		case code := <-codes:
			found := token("orders", url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback.URL}})
			if exchange("stock", found) == "" { // what is permitted
				p.fail("a token is not exchanged within a project: %.300s", page)
			}
			if exchange("thief", found) != "" {
				return "a token of the person for the stranger's application"
			}
		default:
			p.fail("nobody is logged in to the application: %.300s", page)
		}
		return ""
	},
}

var (
	requestID = regexp.MustCompile(`name=id value="([^"]+)"`)
	nameOf    = regexp.MustCompile(`"name":"([^"]*)"`)

	consentFields = regexp.MustCompile(`name="(csrf|request)" value="([^"]*)"`)
	accessToken   = regexp.MustCompile(`"access_token":"([^"]*)"`)
)

// logIn logs in through a provider as a browser does, and returns who the hub sees then,
// empty if nobody.
func (p *Play) logIn(idp *oidcserver.Server, u oidcserver.User) string {
	if name := nameOf.FindStringSubmatch(p.browse(idp, u).open(http.MethodGet, p.URL+"/login/session", nil)); name != nil {
		return name[1]
	}
	return ""
}

// browse returns a browser that went through a provider.
func (p *Play) browse(idp *oidcserver.Server, u oidcserver.User) browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.fail("%w", err)
	}
	b := browser{p, &http.Client{Jar: jar, Timeout: limit}}
	page := b.open(http.MethodGet, p.URL+"/login/oidc/"+p.my("idp"), nil)
	id := requestID.FindStringSubmatch(page)
	if id == nil {
		p.fail("no login page of the provider: %s", page)
	}
	b.open(http.MethodPost, idp.URL+"/signin", url.Values{"id": {id[1]}, "name": {u.Name}, "password": {u.Password}})
	return b
}

// browser is one without scripts.
type browser struct {
	p      *Play
	client *http.Client
}

// open sends a form, or nothing, and returns the page that it leads to.
func (b browser) open(method, address string, form url.Values) string {
	r, err := http.NewRequestWithContext(b.p.ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.p.fail("%w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answered, err := b.client.Do(r)
	if err != nil {
		b.p.fail("%w", err)
	}
	defer answered.Body.Close()
	page, err := io.ReadAll(io.LimitReader(answered.Body, 1<<20))
	if err != nil {
		b.p.fail("%w", err)
	}
	return string(page)
}
