package login

import (
	"html/template"
	"net/http"
	"strings"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
)

// Pages lets the sign-in to applications use the hub's login: the session of a browser, and
// pages in the same design with the same protection.
type Pages struct{ s *Server }

// Pages returns the pages of the login.
func (s *Server) Pages() *Pages { return &Pages{s} }

// Visitor is the person of a browser's session.
type Visitor struct {
	identity.Principal
	// AuthAt is when they last gave a proof, or logged in where that is unknown.
	AuthAt int64
	// Methods are how they logged in, in the words of RFC 8176; SecondFactor is set when
	// that took a second factor of this hub, or a passkey.
	Methods      []string
	SecondFactor bool
}

// Page serves a page: errors become pages, and a POST must come from a form of this hub.
func (p *Pages) Page(page func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return p.s.guard.Handler(p.s.serve(page))
}

// Visitor returns the person of a browser's session; ok is false without one.
func (p *Pages) Visitor(r *http.Request) (v Visitor, ok bool, err error) {
	v.Principal, err = p.s.who(r)
	if errcode.Is(err, errcode.Unauthorized) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	terms, created, err := p.s.accounts.TermsOf(r.Context(), v.TokenID)
	if errcode.Is(err, errcode.NotFound) {
		// Another replica ended it a moment ago, which this one has not heard of yet.
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	v.AuthAt = max(terms.ProvedAt, created)
	switch terms.Method {
	case account.MethodPasskey:
		v.Methods, v.SecondFactor = []string{"hwk", "user", "mfa"}, true
	case account.MethodPassword:
		v.Methods = []string{"pwd"}
		// A login with a password takes the second factor of whoever has one.
		factor, err := p.s.accounts.SecondFactor(r.Context(), v.ID)
		if err != nil {
			return v, false, err
		}
		if factor.TOTP {
			v.Methods, v.SecondFactor = []string{"pwd", "otp", "mfa"}, true
		}
	}
	return v, true, nil
}

// LogIn sends a browser to log in, and to next afterwards.
func (p *Pages) LogIn(w http.ResponseWriter, r *http.Request, next string) {
	http.Redirect(w, r, withNext("/login", next), http.StatusSeeOther)
}

// Again sends a browser to give a proof again, and to next afterwards.
func (p *Pages) Again(w http.ResponseWriter, r *http.Request, next string) {
	http.Redirect(w, r, withNext(againPath, next), http.StatusSeeOther)
}

// LogOut ends the session of a browser.
func (p *Pages) LogOut(w http.ResponseWriter, r *http.Request, v Visitor) error {
	return p.s.leave(w, r, v.Principal)
}

// Consent is what a person is asked before an application gets something of them.
type Consent struct {
	// Application is its name, Host where it is.
	Application, Host string
	// Device is set when a device elsewhere asks.
	Device bool
	// Gets are sentences.
	Gets []string
	// Action is the path that the form goes to, Fields what it has besides the answer, and
	// To the URI that the answer leads to.
	Action string
	Fields map[string]string
	To     string
}

// AskConsent shows the page on which a person agrees, or does not.
func (p *Pages) AskConsent(w http.ResponseWriter, r *http.Request, c Consent) {
	p.s.render(w, r, http.StatusOK, "consent", view{Title: "Log in to " + c.Application, Consent: &c, FormTo: formTarget(c.To)})
}

// SignInTrial is what an application would get of a person, or why it would not let them in.
type SignInTrial struct {
	Application, Person, Refused string
	Claims                       []Claim
}

// Claim is one of a token, as people read it.
type Claim struct{ Name, Value string }

// ShowTrial shows a trial of an application.
func (p *Pages) ShowTrial(w http.ResponseWriter, r *http.Request, t SignInTrial) {
	p.s.render(w, r, http.StatusOK, "try", view{Title: "Trial of " + t.Application, SignIn: &t})
}

// Refuse shows why somebody cannot go on.
func (p *Pages) Refuse(w http.ResponseWriter, r *http.Request, status int, title, why string) {
	p.s.render(w, r, status, "message", view{Title: title, Error: why, Back: "/"})
}

// AskCode shows the page on which a person types the code of a device.
func (p *Pages) AskCode(w http.ResponseWriter, r *http.Request, status int, action, problem string) {
	p.s.render(w, r, status, "usercode", view{Title: "Log in a device", Next: action, Error: problem})
}

// Tell shows how something ended.
func (p *Pages) Tell(w http.ResponseWriter, r *http.Request, title, note string) {
	p.s.render(w, r, http.StatusOK, "message", view{Title: title, Note: note})
}

// formTarget is the origin of a URI for a page's policy; of a program's own scheme, the scheme.
func formTarget(uri string) string {
	if strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "http://") {
		return originOf(uri)
	}
	scheme, _, _ := strings.Cut(uri, ":")
	return scheme + ":"
}

// applications is the path below which browsers are sent on to applications.
const applications = "/oidc/"

// goOn sends a browser on after a form. To an application it goes by a page: browsers let a
// form's answer lead through no redirect to another origin.
func (s *Server) goOn(w http.ResponseWriter, r *http.Request, next string) {
	if next = safeNext(next); !strings.HasPrefix(next, applications) {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return
	}
	s.render(w, r, http.StatusOK, "on", view{Title: "Logged in", Next: next, Refresh: template.URL(next)}) //nolint:gosec // safeNext checked it
}
