package login

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
)

// passkeys implements WebAuthn. A passkey is bound to the hub's host name; a
// hub that is reached only by IP address supports none.
type passkeys struct{ *webauthn.WebAuthn }

func newPasskeys(origin *url.URL) (*passkeys, error) {
	if net.ParseIP(origin.Hostname()) != nil || (origin.Scheme != "https" && origin.Hostname() != "localhost") {
		return &passkeys{}, nil
	}
	w, err := webauthn.New(&webauthn.Config{
		RPID: origin.Hostname(), RPDisplayName: "Axle", RPOrigins: []string{origin.Scheme + "://" + origin.Host},
		AuthenticatorSelection: protocol.AuthenticatorSelection{ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired},
	})
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "passkeys for %s: %w", origin, err)
	}
	return &passkeys{w}, nil
}

func (k *passkeys) possible() bool { return k.WebAuthn != nil }

var errNoPasskeys = errcode.New(errcode.Invalid, "passkeys work only where the hub is reached by https and by a host name")

// keyUser is a user in the form of the webauthn library.
type keyUser struct {
	id, name    string
	credentials []webauthn.Credential
	rows        []account.Passkey
}

// WebAuthnID implements webauthn.User.
func (u *keyUser) WebAuthnID() []byte { return []byte(u.id) }

// WebAuthnName implements webauthn.User.
func (u *keyUser) WebAuthnName() string { return u.name }

// WebAuthnDisplayName implements webauthn.User.
func (u *keyUser) WebAuthnDisplayName() string { return u.name }

// WebAuthnCredentials implements webauthn.User.
func (u *keyUser) WebAuthnCredentials() []webauthn.Credential { return u.credentials }

func (s *Server) keyUser(ctx context.Context, id, name string) (*keyUser, error) {
	rows, err := s.accounts.Passkeys(ctx, id)
	if err != nil {
		return nil, err
	}
	u := &keyUser{id: id, name: name, rows: rows}
	for _, row := range rows {
		var c webauthn.Credential
		if err := json.Unmarshal([]byte(row.Credential), &c); err != nil {
			return nil, errcode.New(errcode.Internal, "passkey %s of a user cannot be read: %w", row.ID, err)
		}
		u.credentials = append(u.credentials, c)
	}
	return u, nil
}

// keyFlow is a passkey request to a browser.
type keyFlow struct {
	webauthn.SessionData
	Next string `json:"next"`
}

// answerJSON writes the answer to a script.
func answerJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v)
}

// scripted answers the script with an error, which it shows.
func (s *Server) scripted(w http.ResponseWriter, err error) error {
	if err == nil || errcode.Of(err) == errcode.Internal {
		return err
	}
	errcode.SetRetryAfter(w.Header(), err)
	return answerJSON(w, errcode.HTTPStatus(errcode.Of(err)), map[string]string{"error": errcode.Message(err)})
}

// passkeyOptions tells a browser which passkeys are accepted: any of this hub.
func (s *Server) passkeyOptions(w http.ResponseWriter, r *http.Request) error {
	if !s.keys.possible() {
		return s.scripted(w, errNoPasskeys)
	}
	if err := s.try(r); err != nil {
		return s.scripted(w, err)
	}
	options, session, err := s.keys.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return err
	}
	if err := s.seal(w, cookieKey, keyFlow{*session, safeNext(r.URL.Query().Get("next"))}, flowLifetime/2); err != nil {
		return err
	}
	return answerJSON(w, http.StatusOK, options)
}

var errPasskey = errcode.New(errcode.Unauthorized, "the passkey is not accepted; try again, or log in another way")

// passkeyLogin handles a passkey's answer.
func (s *Server) passkeyLogin(w http.ResponseWriter, r *http.Request) error {
	user, next, err := s.passkeyAnswer(w, r)
	if err != nil {
		return s.scripted(w, err)
	}
	s.came(r, 2)
	if err := s.begin(w, r, user, account.SessionTerms{Method: account.MethodPasskey}, ""); err != nil {
		return err
	}
	return answerJSON(w, http.StatusOK, map[string]string{"next": next})
}

// passkeyAnswer returns the user whose passkey answered, and where to continue.
func (s *Server) passkeyAnswer(w http.ResponseWriter, r *http.Request) (user identity.User, next string, err error) {
	if !s.keys.possible() {
		return user, "", errNoPasskeys
	}
	if err := s.try(r); err != nil {
		return user, "", err
	}
	var f keyFlow
	begun := s.open(r, cookieKey, &f)
	s.dropCookie(w, cookieKey)
	if !begun {
		return user, "", errFlow
	}
	if user, err = s.checkPasskey(r, f); err != nil {
		return user, "", s.refused(r, account.MethodPasskey, "", err)
	}
	return user, safeNext(f.Next), nil
}

// checkPasskey returns the user whose passkey signed the challenge, once.
func (s *Server) checkPasskey(r *http.Request, f keyFlow) (identity.User, error) {
	var user identity.User
	var owner *keyUser
	find := func(_, handle []byte) (webauthn.User, error) {
		var err error
		if user, err = s.identity.User(r.Context(), string(handle)); err != nil {
			return nil, err
		}
		owner, err = s.keyUser(r.Context(), user.ID, user.Name)
		return owner, err
	}
	credential, err := s.keys.FinishDiscoverableLogin(find, f.SessionData, r)
	if err != nil {
		return user, errcode.Hide(errcode.Unauthorized, err, "%s", errPasskey.Error())
	}
	if credential.Authenticator.CloneWarning {
		return user, errcode.New(errcode.Unauthorized, "the passkey's counter went back, which means that it may have been copied; report it to an administrator")
	}
	err = s.accounts.UseOnce(r.Context(), "passkey "+f.Challenge, s.clock.Now().Add(flowLifetime))
	if errcode.Is(err, errcode.Conflict) {
		return user, errFlow
	}
	if err != nil {
		return user, err
	}
	text, err := json.Marshal(credential)
	if err != nil {
		return user, err
	}
	id := base64.RawURLEncoding.EncodeToString(credential.ID)
	return user, s.accounts.UsedPasskey(r.Context(), account.Passkey{ID: id, UserID: user.ID, Credential: string(text)})
}

// newKeyOptions tells a browser which passkey to create.
func (s *accountPages) newKeyOptions(w http.ResponseWriter, r *http.Request) error {
	u, _, err := s.localKeyUser(w, r)
	if err != nil || u == nil {
		return s.scripted(w, err)
	}
	var known []protocol.CredentialDescriptor
	for _, c := range u.credentials {
		known = append(known, c.Descriptor())
	}
	options, session, err := s.keys.BeginRegistration(u, webauthn.WithExclusions(known), webauthn.WithResidentKeyRequirement(protocol.ResidentKeyRequirementRequired))
	if err != nil {
		return err
	}
	if err := s.seal(w, cookieKey, keyFlow{SessionData: *session}, flowLifetime/2); err != nil {
		return err
	}
	return answerJSON(w, http.StatusOK, options)
}

// localKeyUser returns the logged-in user, if they log in locally.
func (s *accountPages) localKeyUser(w http.ResponseWriter, r *http.Request) (*keyUser, identity.Principal, error) {
	if !s.keys.possible() {
		return nil, identity.Principal{}, errNoPasskeys
	}
	p, ok, err := s.needPerson(w, r)
	if err != nil || !ok {
		return nil, p, err
	}
	local, err := s.accounts.HasPassword(r.Context(), p.ID)
	if err != nil {
		return nil, p, err
	}
	if !local {
		return nil, p, errcode.New(errcode.Invalid, "you log in through a provider; manage your passkeys there")
	}
	if err := s.identity.Proved(r.Context(), p); err != nil {
		return nil, p, err
	}
	u, err := s.keyUser(r.Context(), p.ID, p.Name)
	return u, p, err
}

// addKey stores the passkey that a browser created.
func (s *accountPages) addKey(w http.ResponseWriter, r *http.Request) error {
	u, p, err := s.localKeyUser(w, r)
	if err != nil || u == nil {
		return s.scripted(w, err)
	}
	var f keyFlow
	begun := s.open(r, cookieKey, &f)
	s.dropCookie(w, cookieKey)
	if !begun {
		return s.scripted(w, errFlow)
	}
	credential, err := s.keys.FinishRegistration(u, f.SessionData, r)
	if err != nil {
		return s.scripted(w, errcode.Hide(errcode.Invalid, err, "the passkey was not taken; try again"))
	}
	text, err := json.Marshal(credential)
	if err != nil {
		return err
	}
	id := base64.RawURLEncoding.EncodeToString(credential.ID)
	err = s.accounts.AddPasskey(r.Context(), p, account.Passkey{ID: id, Credential: string(text)})
	if err != nil {
		return s.scripted(w, err)
	}
	s.note(r, p, audit.Record{Action: "account.passkey_added", Kind: "passkey", Name: id})
	return answerJSON(w, http.StatusOK, map[string]string{"next": "/login/account"})
}
