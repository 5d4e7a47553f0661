package login

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// cliView is a command line that asks to log in.
type cliView struct {
	account.CLIRequest
	Redirect, State string
	LifetimeText    string
}

// askedCLI parses the request of a command line. Invalid.
func askedCLI(values url.Values) (cliView, error) {
	v := cliView{Redirect: values.Get("redirect_uri"), State: values.Get("state")}
	if values.Get("code_challenge_method") != "S256" {
		return v, errcode.New(errcode.Invalid, "the command line is too old or is not axle: it sent no S256 challenge; upgrade axle and run axle login again")
	}
	if !isLoopbackURL(v.Redirect) {
		return v, errcode.New(errcode.Invalid, "the answer would go to %.100q, which is not this machine; run axle login again", v.Redirect)
	}
	if v.State == "" || len(v.State) > 200 {
		return v, errcode.New(errcode.Invalid, "the command line sent no state; run axle login again")
	}
	seconds, err := strconv.ParseInt(first(values.Get("lifetime"), "0"), 10, 32)
	if err != nil {
		return v, errcode.New(errcode.Invalid, "lifetime %.40q is not a number of seconds", values.Get("lifetime"))
	}
	v.CLIRequest, err = account.CLIRequest{
		Client: values.Get("client"), Scopes: strings.Fields(values.Get("scope")), Lifetime: time.Duration(seconds) * time.Second, Challenge: values.Get("code_challenge"),
	}.Check()
	v.LifetimeText = account.ShowLifetime(v.Lifetime)
	return v, err
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// isLoopbackURL accepts only http://127.0.0.1:PORT/… and http://[::1]:PORT/…:
// another machine could answer for a host name.
func isLoopbackURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.User != nil || u.Fragment != "" || u.RawQuery != "" || len(text) > 200 {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	port, err := strconv.Atoi(u.Port())
	return ip != nil && ip.IsLoopback() && err == nil && port > 0 && port < 1<<16 && (u.Path == "" || u.Path[0] == '/')
}

// showCLI asks a person whether a command line may act for them.
func (s *Server) showCLI(w http.ResponseWriter, r *http.Request) error {
	asked, err := askedCLI(r.URL.Query())
	if err != nil {
		return err
	}
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	if err := s.identity.ProvedForCLI(r.Context(), p); err != nil {
		return err
	}
	s.render(w, r, http.StatusOK, "cli", view{Title: "Allow the command line", Person: &p, CLI: &asked, FormTo: originOf(asked.Redirect)})
	return nil
}

// answerCLI redirects the browser to the command line, with a code or a refusal.
func (s *Server) answerCLI(w http.ResponseWriter, r *http.Request) error {
	asked, err := askedCLI(r.PostForm)
	if err != nil {
		return err
	}
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	query := url.Values{"state": {asked.State}}
	result := "denied"
	if r.PostFormValue("answer") == "allow" {
		code, err := s.accounts.AllowCLI(r.Context(), p, asked.CLIRequest)
		if err != nil {
			return err
		}
		query.Set("code", code)
		result = audit.ResultOK
	} else {
		query.Set("error", "access_denied")
	}
	s.record(r, audit.Record{At: clock.Micros(s.clock.Now()), Actor: p.Name, ActorKind: string(p.Kind), ActorID: p.ID, TokenID: p.TokenID, Action: "login.cli", Name: asked.Client, Result: result})
	http.Redirect(w, r, asked.Redirect+"?"+query.Encode(), http.StatusSeeOther)
	return nil
}

// showDevice asks for the code that a terminal shows, then whether the person
// started that login.
func (s *Server) showDevice(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	typed := r.URL.Query().Get("code")
	if typed == "" {
		s.render(w, r, http.StatusOK, "device", view{Title: "Log in on another machine", Person: &p})
		return nil
	}
	return s.devicePage(w, r, p, typed)
}

// devicePage shows the login that waits for a code. Wrong guesses count per session.
func (s *Server) devicePage(w http.ResponseWriter, r *http.Request, p identity.Principal, typed string) error {
	if err := s.limits.codes.Take(pool.Caller{Name: p.ID}); err != nil {
		return err
	}
	device, err := s.accounts.DeviceByCode(r.Context(), typed)
	if errcode.Is(err, errcode.NotFound) {
		s.render(w, r, http.StatusNotFound, "device", view{Title: "Log in on another machine", Person: &p, Code: typed, Error: errcode.Message(err)})
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.identity.ProvedForCLI(r.Context(), p); err != nil {
		return err
	}
	s.render(w, r, http.StatusOK, "device", view{Title: "Log in on another machine", Person: &p, Device: &device, Code: device.UserCode})
	return nil
}

// answerDevice handles a typed code, and then the person's answer.
func (s *Server) answerDevice(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	typed, answer := r.PostFormValue("code"), r.PostFormValue("answer")
	if answer != "allow" && answer != "deny" {
		return s.devicePage(w, r, p, typed)
	}
	if err := s.limits.codes.Take(pool.Caller{Name: p.ID}); err != nil {
		return err
	}
	device, err := s.accounts.AnswerDevice(r.Context(), p, typed, answer == "allow")
	if err != nil {
		return err
	}
	result, note := audit.ResultOK, "The terminal of "+device.Client+" is logged in as "+p.Name+". You may close this page."
	if answer == "deny" {
		result, note = "denied", "The login of "+device.Client+" was refused. If you did not begin it, somebody wanted you to: do not type codes that others send you."
	}
	s.record(r, audit.Record{Actor: p.Name, ActorKind: string(p.Kind), ActorID: p.ID, TokenID: p.TokenID, Action: "login.device", Name: device.Client, Result: result, Detail: map[string]string{"device_source": device.Source}})
	s.render(w, r, http.StatusOK, "message", view{Title: "Done", Note: note, Person: &p})
	return nil
}
