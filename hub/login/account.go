package login

import (
	"bytes"
	"context"
	"encoding/base64"
	"html/template"
	"image/png"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pquerna/otp"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// accountPages serves the page where people manage their own login.
type accountPages struct{ *Server }

// noteTimeout limits how long an answer waits for its audit record.
const noteTimeout = 5 * time.Second

// accountView is what a person sees of their own account.
type accountView struct {
	New      bool
	Local    bool
	Factor   account.SecondFactor
	Passkeys []account.Passkey
	Sessions []account.Session
	Tokens   []identity.Token
	Current  string
	// Proved is set when the person has shown a password or a passkey a moment
	// ago, and may change this page's settings.
	Proved bool
	// Secret and Picture belong to new one-time codes.
	Secret  string
	Picture template.URL
	// Made is a token that is shown only this once.
	Made *identity.CreatedToken
}

// show shows the sessions, tokens and second factors of the logged-in person.
func (s *accountPages) show(w http.ResponseWriter, r *http.Request) error {
	return s.page(w, r, http.StatusOK, view{Account: &accountView{}})
}

// page completes the view.
func (s *accountPages) page(w http.ResponseWriter, r *http.Request, status int, v view) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	a := v.Account
	a.New, a.Current = r.URL.Query().Get("new") != "", p.TokenID
	a.Proved = s.identity.Proved(r.Context(), p) == nil
	if a.Local, err = s.accounts.HasPassword(r.Context(), p.ID); err != nil {
		return err
	}
	if a.Factor, err = s.accounts.SecondFactor(r.Context(), p.ID); err != nil {
		return err
	}
	if a.Passkeys, err = s.accounts.Passkeys(r.Context(), p.ID); err != nil {
		return err
	}
	if a.Sessions, err = s.accounts.Sessions(r.Context(), p, ""); err != nil {
		return err
	}
	all, err := s.identity.Tokens(r.Context(), p)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.OwnerID == p.ID && t.Kind == identity.TokenAPI {
			a.Tokens = append(a.Tokens, t)
		}
	}
	v.Title, v.Person, v.Passkeys, v.Picture = "Your account", &p, a.Local && s.keys.possible(), a.Picture != ""
	s.render(w, r, status, "account", v)
	return nil
}

// note waits a while for the record of a change to become durable, and then
// leaves it to the log.
func (s *accountPages) note(r *http.Request, p identity.Principal, a audit.Record) {
	a.At, a.Source, a.Result = clock.Micros(s.clock.Now()), source(r), audit.ResultOK
	a.Actor, a.ActorKind, a.ActorID, a.TokenID = p.Name, string(p.Kind), p.ID, p.TokenID
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), noteTimeout)
	defer cancel()
	if err := s.audit.AddNow(ctx, a); err != nil {
		s.log.Warn("the audit record of a change waits for the database", logkey.Kind, a.Action, logkey.Error, err)
		s.audit.Add(ctx, a)
	}
}

// showTOTP returns the secret as text and as a QR code.
func showTOTP(key *otp.Key) (string, template.URL, error) {
	picture, err := key.Image(200, 200)
	if err != nil {
		return "", "", err
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return "", "", err
	}
	return key.Secret(), template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), nil
}

// done redirects to the account, or shows the error there.
func (s *accountPages) done(w http.ResponseWriter, r *http.Request, err error) error {
	switch errcode.Of(err) {
	case errcode.Invalid, errcode.Unauthorized, errcode.Exhausted, errcode.NotFound:
		if err != nil {
			errcode.SetRetryAfter(w.Header(), err)
			return s.page(w, r, errcode.HTTPStatus(errcode.Of(err)), view{Error: errcode.Message(err), Account: &accountView{}})
		}
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/login/account", http.StatusSeeOther)
	return nil
}

// changed records a successful change and redirects to the account.
func (s *accountPages) changed(w http.ResponseWriter, r *http.Request, p identity.Principal, err error, a audit.Record) error {
	if err == nil {
		s.note(r, p, a)
	}
	return s.done(w, r, err)
}

// changePassword requires the current password: an open browser must not be enough
// to take over an account. Every session ends, and this browser gets a new one.
func (s *accountPages) changePassword(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	if r.PostFormValue("password") != r.PostFormValue("again") {
		return s.done(w, r, errcode.New(errcode.Invalid, "the two passwords differ"))
	}
	tokens := r.PostFormValue("tokens") != ""
	_, right, err := s.guess(r, p.Name)
	if err == nil {
		if err = s.accounts.ChangePassword(r.Context(), p, r.PostFormValue("present"), r.PostFormValue("password"), tokens); !errcode.Is(err, errcode.Unauthorized) {
			right()
		}
	}
	if err != nil {
		return s.done(w, r, err)
	}
	s.note(r, p, audit.Record{Action: "account.password_changed", Kind: "user", Name: p.Name, Detail: ended(tokens)})
	user, err := s.identity.User(r.Context(), p.ID)
	if err == nil {
		err = s.begin(w, r, user, account.SessionTerms{Method: account.MethodPassword}, "")
	}
	return s.done(w, r, err)
}

// ended records whether tokens ended with the sessions.
func ended(tokens bool) map[string]string {
	if tokens {
		return map[string]string{"api_tokens": "ended"}
	}
	return map[string]string{"api_tokens": "kept"}
}

// pendingTOTP is a secret without a confirmed code yet.
type pendingTOTP struct {
	UserID string `json:"u"`
	URL    string `json:"k"`
}

// beginTOTP shows a new secret.
func (s *accountPages) beginTOTP(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	local, err := s.accounts.HasPassword(r.Context(), p.ID)
	if err == nil && !local {
		err = errcode.New(errcode.Invalid, "you log in through a provider; manage your second factors there")
	}
	if err == nil {
		err = s.identity.Proved(r.Context(), p)
	}
	if err != nil {
		return s.done(w, r, err)
	}
	key, err := account.NewTOTP(p, s.host)
	if err != nil {
		return err
	}
	if err := s.seal(w, cookieTOTP, pendingTOTP{p.ID, key.URL()}, flowLifetime); err != nil {
		return err
	}
	return s.totpPage(w, r, http.StatusOK, "", key)
}

func (s *accountPages) totpPage(w http.ResponseWriter, r *http.Request, status int, problem string, key *otp.Key) (err error) {
	a := &accountView{}
	if a.Secret, a.Picture, err = showTOTP(key); err != nil {
		return err
	}
	return s.page(w, r, status, view{Error: problem, Account: a})
}

// confirmTOTP stores the secret once its first code is right.
func (s *accountPages) confirmTOTP(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	var pending pendingTOTP
	if !s.open(r, cookieTOTP, &pending) || pending.UserID != p.ID {
		return s.done(w, r, errcode.New(errcode.Invalid, "this took too long; start the setup of one-time codes again"))
	}
	key, err := otp.NewKeyFromURL(pending.URL)
	if err != nil {
		return err
	}
	err = s.accounts.SetTOTP(r.Context(), p, key.Secret(), r.PostFormValue("code"))
	if errcode.Is(err, errcode.Invalid) {
		return s.totpPage(w, r, http.StatusUnprocessableEntity, errcode.Message(err), key)
	}
	s.dropCookie(w, cookieTOTP)
	return s.changed(w, r, p, err, audit.Record{Action: "account.totp_added", Kind: "user", Name: p.Name})
}

// dropTOTP and dropKey make the account weaker, so identity requires a proof.
func (s *accountPages) dropTOTP(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	return s.changed(w, r, p, s.accounts.DropTOTP(r.Context(), p), audit.Record{Action: "account.totp_removed", Kind: "user", Name: p.Name})
}

func (s *accountPages) dropKey(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	id := r.PostFormValue("id")
	return s.changed(w, r, p, s.accounts.DropPasskey(r.Context(), p, id), audit.Record{Action: "account.passkey_removed", Kind: "passkey", Name: id})
}

// createToken creates an API token and shows it once.
func (s *accountPages) createToken(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	days, err := strconv.Atoi(r.PostFormValue("days"))
	if err != nil || days < 1 || days > 366 {
		return s.done(w, r, errcode.New(errcode.Invalid, "a token lives 1 to 366 days"))
	}
	made, err := s.identity.CreateToken(r.Context(), p, identity.TokenRequest{
		Name: r.PostFormValue("name"), Scopes: []string{r.PostFormValue("scope")}, Lifetime: time.Duration(days) * 24 * time.Hour,
	})
	if err != nil {
		return s.done(w, r, err)
	}
	s.note(r, p, audit.Record{Action: "account.token_created", Kind: "token", Name: made.Name, Detail: map[string]string{"token": made.ID, "scopes": strings.Join(made.Scopes, " ")}})
	return s.page(w, r, http.StatusOK, view{Account: &accountView{Made: &made}})
}

// revokeToken revokes one of the person's own tokens.
func (s *accountPages) revokeToken(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	id := r.PostFormValue("id")
	return s.changed(w, r, p, s.identity.RevokeToken(r.Context(), p, id), audit.Record{Action: "account.token_revoked", Kind: "token", Name: id})
}

// endSession ends one of the person's own sessions.
func (s *accountPages) endSession(w http.ResponseWriter, r *http.Request) error {
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return err
	}
	id := r.PostFormValue("id")
	return s.changed(w, r, p, s.accounts.EndSession(r.Context(), p, id), audit.Record{Action: "account.session_ended", Kind: "session", Name: id})
}
