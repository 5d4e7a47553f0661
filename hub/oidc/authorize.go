package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// The classes of a login: with one factor, and with two.
const classOne, classTwo = "https://refeds.org/profile/sfa", "https://refeds.org/profile/mfa"

// proofSince is a parameter of the hub's own: since when a proof is wanted, sealed.
const proofSince = "axle_since"

// askedFor is how long a proof counts for the request that asked for it.
const askedFor = 15 * time.Minute

// request is a request for authorization whose client and redirect URI are right, so that
// errors go to the application.
type request struct {
	client   application.Client
	redirect string
	query    url.Values
	scopes   []string
	prompts  []string
	maxAge   int64 // in microseconds; negative for none
}

// redirected is an answer to the application.
type redirected struct{ code, description string }

// Error implements error.
func (e redirected) Error() string { return e.code + ": " + e.description }

// authorizePost accepts a request by POST, as the standard asks. The session's cookie does not
// come with a form of another site, so it becomes a GET.
func (p *Provider) authorizePost(w http.ResponseWriter, r *http.Request) {
	p.asGet(w, r, Path+"/authorize")
}

// asGet sends a browser to a path with what it posted.
func (p *Provider) asGet(w http.ResponseWriter, r *http.Request, path string) {
	if err := p.rates.browsers.Take(pool.Stranger(r.RemoteAddr)); err != nil {
		busy(w, err)
		return
	}
	if err := r.ParseForm(); err != nil || r.URL.RawQuery != "" {
		http.Error(w, "the form cannot be read", http.StatusBadRequest)
		return
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, path+"?"+r.PostForm.Encode(), http.StatusSeeOther)
}

// authorize is the authorization endpoint: it leads to the hub's login and back, asks for
// consent, and sends the browser back to the application with a code.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) error {
	if err := p.rates.browsers.Take(pool.Stranger(r.RemoteAddr)); err != nil {
		return err
	}
	return p.decide(w, r, r.URL.RawQuery, "")
}

// consent takes the answer of the consent page, and checks the request anew.
func (p *Provider) consent(w http.ResponseWriter, r *http.Request) error {
	if err := p.rates.browsers.Take(pool.Stranger(r.RemoteAddr)); err != nil {
		return err
	}
	answer := r.PostFormValue("answer")
	if answer != "allow" {
		answer = "deny"
	}
	return p.decide(w, r, r.PostFormValue("request"), answer)
}

// decide answers a request. answer is that of the consent page, empty before it.
func (p *Provider) decide(w http.ResponseWriter, r *http.Request, raw, answer string) error {
	w.Header().Set("Referrer-Policy", "no-referrer")
	q, err := p.read(r.Context(), raw)
	if err != nil {
		return err
	}
	done, err := p.carryOut(w, r, q, answer)
	var back redirected
	if errors.As(err, &back) {
		q.back(w, p.issuer, url.Values{"error": {back.code}, "error_description": {back.description}})
		return nil
	}
	if err == nil && !done {
		return errcode.New(errcode.Internal, "nothing answered a request for authorization")
	}
	return err
}

// read checks a request as far as its errors may not go to the application: nobody knows yet
// that it is one.
func (p *Provider) read(ctx context.Context, raw string) (*request, error) {
	if len(Path+"/authorize?"+raw) > login.MaxNext-200 {
		return nil, errcode.New(errcode.Invalid, "the application's request is too long: it has %d bytes, and %d at most; its state should be a short random text", len(raw), login.MaxNext-200)
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the application's request cannot be read")
	}
	if err := single(query); err != nil {
		return nil, err
	}
	c, err := p.config.Clients.Client(ctx, query.Get("client_id"))
	if errcode.Is(err, errcode.NotFound) {
		return nil, errcode.New(errcode.Invalid, "this hub has no application with the client_id %.80q: who runs the application corrects it there, or declares the application here", query.Get("client_id"))
	}
	if err != nil {
		return nil, err
	}
	redirect := query.Get("redirect_uri")
	if !c.ReturnsTo(redirect) {
		return nil, errcode.New(errcode.Invalid, "redirect_uri: %.200q is not one of %s's; they are compared exactly, so add it to the application as it stands here", redirect, c.Name)
	}
	return &request{client: c, redirect: redirect, query: query, maxAge: -1}, nil
}

// check checks the rest of a request.
func (q *request) check() error {
	get := q.query.Get
	switch {
	case q.query.Has("request"):
		return redirected{"request_not_supported", "parameters stand in the URL here, not in a request object"}
	case q.query.Has("request_uri"):
		return redirected{"request_uri_not_supported", "parameters stand in the URL here, not in a request object"}
	case get("response_type") != "code":
		return redirected{"unsupported_response_type", "only response_type=code is supported"}
	case get("response_mode") != "" && get("response_mode") != "query":
		return redirected{"invalid_request", "only response_mode=query is supported"}
	}
	if q.scopes = known(strings.Fields(get("scope"))); !slices.Contains(q.scopes, oidc.ScopeOpenID) {
		return redirected{"invalid_scope", "the scope openid is missing"}
	}
	challenge, method := get("code_challenge"), get("code_challenge_method")
	switch {
	case challenge == "" && (q.client.Public || method != ""):
		return redirected{"invalid_request", "PKCE is required: send code_challenge with code_challenge_method=S256"}
	case challenge != "" && method != "S256":
		return redirected{"invalid_request", "code_challenge_method must be S256"}
	case challenge != "" && !isChallenge(challenge):
		return redirected{"invalid_request", "code_challenge is not the SHA-256 of a verifier in base64url"}
	}
	if q.prompts = strings.Fields(get("prompt")); slices.Contains(q.prompts, oidc.PromptNone) && len(q.prompts) > 1 {
		return redirected{"invalid_request", "prompt=none stands by itself"}
	}
	if text := get("max_age"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil || seconds < 0 {
			return redirected{"invalid_request", "max_age is a number of seconds"}
		}
		q.maxAge = seconds * 1_000_000
	}
	return nil
}

func isChallenge(text string) bool {
	sum, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && len(sum) == sha256.Size
}

// silent reports whether no page may be shown.
func (q *request) silent() bool { return slices.Contains(q.prompts, oidc.PromptNone) }

// carryOut logs the person in, or asks for what is missing.
func (p *Provider) carryOut(w http.ResponseWriter, r *http.Request, q *request, answer string) (done bool, err error) {
	if err := q.check(); err != nil {
		return false, err
	}
	v, ok, err := p.config.Pages.Visitor(r)
	if err != nil {
		return false, err
	}
	since, wanted := p.since(q)
	if !ok || wanted && v.AuthAt < since || q.maxAge >= 0 && p.now()-v.AuthAt > q.maxAge && v.AuthAt < since {
		if q.silent() {
			return false, redirected{"login_required", "nobody is logged in, or not recently"}
		}
		if ok {
			p.config.Pages.Again(w, r, p.again(q))
		} else {
			p.config.Pages.LogIn(w, r, p.again(q))
		}
		return true, nil
	}
	if err := p.hinted(r, q, v); err != nil {
		return false, err
	}
	if err := p.mayUse(r.Context(), q.client, v, q.scopes); err != nil {
		return p.refused(w, r, q, v, err)
	}
	agreed, err := p.agreed(w, r, q, v, answer)
	if err != nil || !agreed {
		return !agreed && err == nil, err
	}
	return true, p.letIn(w, r, q, v)
}

// mayUse returns nil if a person may log in to a client with what their session has shown,
// and what the client gets of them fits.
func (p *Provider) mayUse(ctx context.Context, c application.Client, v login.Visitor, scopes []string) error {
	person, err := p.gate.person(ctx, c, v.ID)
	if err == nil && c.SecondFactor && !v.SecondFactor {
		err = errcode.New(errcode.Forbidden, "%s lets in only who logs in with a second factor: add one-time codes or a passkey to your account at /login/account, log out and log in with it", c.Title)
	}
	if err == nil && slices.Contains(scopes, scopeGroups) {
		_, err = p.gate.groups(c, person)
	}
	return err
}

// grantFor is the grant of a person's session to a client.
func (p *Provider) grantFor(c application.Client, v login.Visitor, scopes []string) Grant {
	class := classOne
	if v.SecondFactor {
		class = classTwo
	}
	return Grant{
		ID: identity.NewID("gnt_"), ClientID: c.ID, UserID: v.ID, TokenID: v.TokenID, SessionID: p.sessionID(v.TokenID, c.ID), Scopes: scopes,
		AuthAt: v.AuthAt, Methods: v.Methods, Class: class,
	}
}

// since returns since when a proof is wanted: at first now, then from when it was asked for.
func (p *Provider) since(q *request) (at int64, wanted bool) {
	wanted = slices.Contains(q.prompts, oidc.PromptLogin) || slices.Contains(q.prompts, oidc.PromptSelectAccount)
	plain, err := p.config.Sealer.Open(unescaped(q.query.Get(proofSince)), q.purpose())
	if err == nil {
		if at, err := strconv.ParseInt(string(plain), 10, 64); err == nil && p.now()-at < askedFor.Microseconds() {
			return at, wanted
		}
	}
	return p.now(), wanted
}

// purpose binds a sealed time to a request.
func (q *request) purpose() string {
	rest := url.Values{}
	for name, values := range q.query {
		if name != proofSince {
			rest[name] = values
		}
	}
	sum := sha256.Sum256([]byte(rest.Encode()))
	return "proof for a sign-in " + base64.RawURLEncoding.EncodeToString(sum[:])
}

// again is the path that a login leads back to.
func (p *Provider) again(q *request) string {
	query := url.Values{}
	for name, values := range q.query {
		query[name] = values
	}
	at, _ := p.since(q)
	query.Set(proofSince, escaped(p.config.Sealer.Seal([]byte(strconv.FormatInt(at, 10)), q.purpose())))
	return Path + "/authorize?" + query.Encode()
}

// A sealed text has + and /, which grow threefold in a URL.
func escaped(text string) string   { return strings.NewReplacer("+", "-", "/", "_").Replace(text) }
func unescaped(text string) string { return strings.NewReplacer("-", "+", "_", "/").Replace(text) }

// hinted checks that the application's ID token is of who is logged in.
func (p *Provider) hinted(r *http.Request, q *request, v login.Visitor) error {
	hint := q.query.Get("id_token_hint")
	if hint == "" {
		return nil
	}
	ctx := p.issued(r).Context()
	claims, err := op.VerifyIDTokenHint[*oidc.TokenClaims](ctx, hint, p.IDTokenHintVerifier(ctx))
	var expired op.IDTokenHintExpiredError
	if err != nil && !errors.As(err, &expired) || claims.GetSubject() != v.ID {
		return redirected{"login_required", "id_token_hint is not of the person who is logged in"}
	}
	return nil
}

// refused shows a person why they cannot log in.
func (p *Provider) refused(w http.ResponseWriter, r *http.Request, q *request, v login.Visitor, err error) (bool, error) {
	code := errcode.Of(err)
	if code == errcode.Internal || code == errcode.Unavailable {
		return false, err
	}
	p.record(r, q.client, v, string(code), errcode.Message(err))
	if q.silent() {
		return false, redirected{"access_denied", "the person may not log in to this application"}
	}
	p.config.Pages.Refuse(w, r, http.StatusForbidden, "No access to "+q.client.Title, errcode.Message(err))
	return true, nil
}

// agreed reports whether the person agreed to what the application gets; otherwise it has
// shown the page.
func (p *Provider) agreed(w http.ResponseWriter, r *http.Request, q *request, v login.Visitor, answer string) (bool, error) {
	switch answer {
	case "allow":
		return true, p.config.Stores.Writer.Write(r.Context(), func(ctx context.Context) error {
			return p.config.Stores.Consents.PutConsent(ctx, Consent{UserID: v.ID, ClientID: q.client.ID, Scopes: q.scopes, GivenAt: p.now()})
		})
	case "deny":
		p.record(r, q.client, v, "denied", "")
		return false, redirected{"access_denied", "the person did not agree"}
	}
	given, err := p.config.Stores.Consents.Consent(r.Context(), v.ID, q.client.ID)
	if err != nil {
		return false, err
	}
	missing := slices.ContainsFunc(q.scopes, func(s string) bool { return !slices.Contains(given.Scopes, s) })
	if !missing && !slices.Contains(q.prompts, oidc.PromptConsent) {
		return true, nil
	}
	if q.silent() {
		return false, redirected{"consent_required", "the person has not agreed yet"}
	}
	host := q.redirect
	if u, err := url.Parse(q.redirect); err == nil && u.Host != "" {
		host = u.Host
	}
	p.config.Pages.AskConsent(w, r, login.Consent{
		Application: q.client.Title, Host: host, Gets: gets(q.scopes), Action: Path + "/consent",
		Fields: map[string]string{"request": q.query.Encode()}, To: q.redirect,
	})
	return false, nil
}

// gets are the scopes in words.
func gets(scopes []string) []string {
	words := map[string]string{
		oidc.ScopeOpenID: "that you have an account here", oidc.ScopeProfile: "your name", oidc.ScopeEmail: "your e-mail address",
		scopeGroups: "groups that you are in", oidc.ScopeOfflineAccess: "the right to ask again while you are away",
	}
	var all []string
	for _, s := range scopes {
		all = append(all, words[s])
	}
	return all
}

// letIn sends the browser to the application with a code.
func (p *Provider) letIn(w http.ResponseWriter, r *http.Request, q *request, v login.Visitor) error {
	g := p.grantFor(q.client, v, q.scopes)
	g.Nonce, g.Redirect, g.Challenge = q.query.Get("nonce"), q.redirect, q.query.Get("code_challenge")
	var code string
	err := p.config.Stores.Writer.Write(r.Context(), func(ctx context.Context) (err error) {
		if err := p.config.Stores.Consents.LoggedIn(ctx, v.ID, q.client.ID, p.now()); err != nil {
			return err
		}
		code, err = p.grants.begin(ctx, g)
		return err
	})
	if err != nil {
		return err
	}
	p.record(r, q.client, v, audit.ResultOK, "")
	q.back(w, p.issuer, url.Values{"code": {code}})
	return nil
}

// sessionID is what an application calls a session of the hub. Two applications cannot
// compare theirs.
func (p *Provider) sessionID(tokenID, clientID string) string {
	return derived(p.seeds, "session "+clientID+" "+tokenID)[:22]
}

// back sends the browser to the application. The issuer stands in every answer, so that an
// application with several providers knows whose it is.
func (q *request) back(w http.ResponseWriter, issuer string, answer url.Values) {
	if state := q.query.Get("state"); state != "" {
		answer.Set("state", state)
	}
	answer.Set("iss", issuer)
	w.Header().Set("Location", withAnswer(q.redirect, answer))
	w.WriteHeader(http.StatusSeeOther)
}

// withAnswer adds parameters to a URI, which stays byte by byte as it was registered.
func withAnswer(uri string, answer url.Values) string {
	if strings.Contains(uri, "?") {
		return uri + "&" + answer.Encode()
	}
	return uri + "?" + answer.Encode()
}

// record records a sign-in in the audit log.
func (p *Provider) record(r *http.Request, c application.Client, v login.Visitor, result, reason string) {
	a := audit.Record{
		At: p.now(), Actor: v.Name, ActorKind: string(v.Kind), ActorID: v.ID, TokenID: v.TokenID, Source: pool.Network(r.RemoteAddr),
		Action: "application.login", Kind: "application", Name: c.Name, Result: result,
	}
	if reason != "" {
		a.Detail = map[string]string{"reason": reason}
	}
	p.config.Audit.Add(context.WithoutCancel(r.Context()), a)
}
