package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/term"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
)

// callLimit is how long one call of the provider may take, answerLimit how long its answer
// may be.
const callLimit, answerLimit = 30 * time.Second, 1 << 20

// longest is the longest life of a token that is believed.
const longest = 24 * time.Hour

// Spare is how long a token that is handed out is valid at least.
const Spare = 30 * time.Second

// scopes are what API servers read, and offline_access: who works has no browser open.
var scopes = []string{oidc.ScopeOpenID, "email", "groups", oidc.ScopeOfflineAccess}

// Party is a client without a secret.
type Party struct {
	Issuer, ClientID string
	// CA is a certificate authority in PEM for the issuer; empty for those of the system.
	CA string
	// Device shows a code for a browser on another machine.
	Device bool
	App    *command.App
}

// Token returns an ID token that is valid for a while yet: the one that is kept, a refreshed
// one, or that of a new login.
func (p Party) Token(ctx context.Context) (Kept, error) {
	if !strings.HasPrefix(p.Issuer, "https://") {
		return Kept{}, errcode.New(errcode.Invalid, "--issuer: %.200q is not an https URL", p.Issuer)
	}
	f, err := p.file()
	if err != nil {
		return Kept{}, err
	}
	if kept, err := f.read(); err != nil || kept.fresh() {
		return kept, err
	}
	unlock, err := f.lock(ctx, func() {
		fmt.Fprintln(p.App.Err, "another command is logging in; waiting for it")
	})
	if err != nil {
		return Kept{}, err
	}
	defer unlock()
	kept, err := f.read() // the one that waited before may have it
	if err != nil || kept.fresh() {
		return kept, err
	}
	next, err := p.obtain(ctx, kept)
	if errors.Is(err, errUnanswered) && !kept.Unanswered {
		kept.Unanswered = true
		err = errors.Join(err, f.write(kept))
	}
	if err != nil {
		return Kept{}, err
	}
	return next, f.write(next)
}

// Forget ends the login at the provider and removes what is kept.
func (p Party) Forget(ctx context.Context) error {
	f, err := p.file()
	if err != nil {
		return err
	}
	unlock, err := f.lock(ctx, func() {})
	if err != nil {
		return err
	}
	defer unlock()
	kept, err := f.read()
	if err != nil || kept.Refresh == "" {
		return errors.Join(err, f.remove())
	}
	if err := f.remove(); err != nil {
		return err
	}
	known, err := p.discover(ctx)
	if err != nil {
		return err
	}
	return known.revoke(ctx, kept.Refresh)
}

// known is a provider as it describes itself.
type known struct {
	party    Party
	provider *oidc.Provider
	config   oauth2.Config
	client   *http.Client
}

// discover reads what the issuer says of itself.
func (p Party) discover(ctx context.Context) (*known, error) {
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, client)
	provider, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "the identity provider %s does not answer: %w", p.Issuer, err)
	}
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams
	return &known{p, provider, oauth2.Config{ClientID: p.ClientID, Endpoint: endpoint, Scopes: scopes}, client}, nil
}

// client calls the issuer.
func (p Party) client() (*http.Client, error) {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errcode.New(errcode.Internal, "the transport of this program is not http's")
	}
	transport = transport.Clone()
	if p.CA != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(p.CA)) {
			return nil, errcode.New(errcode.Invalid, "the certificate authority of %s is not a certificate in PEM", p.Issuer)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	// A provider that moved would get what is for another one.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: limited{transport}, Timeout: callLimit, CheckRedirect: stay}, nil
}

// limited cuts answers that are too long.
type limited struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(answer.Body, answerLimit), answer.Body}
	return answer, nil
}

// obtain gets a token by what is kept, or by a person.
func (p Party) obtain(ctx context.Context, kept Kept) (Kept, error) {
	k, err := p.discover(ctx)
	if err == nil {
		ctx = oidc.ClientContext(ctx, k.client)
		err = errcode.New(errcode.Unauthorized, "nobody has logged in yet")
		if kept.Refresh != "" {
			var next Kept
			if next, err = k.refresh(ctx, kept.Refresh); err == nil {
				return next, nil
			}
		}
	}
	switch {
	case errcode.Is(err, errcode.Unauthorized):
		fmt.Fprintln(p.App.Err, errcode.Message(err))
	case time.Until(kept.ExpiresAt) > 0:
		return kept, nil // it is still valid, and the provider may answer the next time
	default:
		return Kept{}, err
	}
	if p.Device {
		return k.byDevice(ctx)
	}
	if !p.somebody() && p.App.Getenv("BROWSER") == "" {
		return Kept{}, errcode.New(errcode.Unauthorized, "nobody can log in here: standard error is not a terminal. Run this command in one first, set BROWSER, or use --device")
	}
	return k.byBrowser(ctx, kept.Unanswered)
}

// somebody reports whether a person reads what is printed. kubectl passes on no input.
func (p Party) somebody() bool {
	f, ok := p.App.Err.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// refresh uses a refresh token. Unauthorized when the login has ended.
func (k *known) refresh(ctx context.Context, token string) (Kept, error) {
	got, err := k.config.TokenSource(ctx, &oauth2.Token{RefreshToken: token}).Token()
	if err != nil {
		return Kept{}, k.failed("refresh the login", err)
	}
	return k.verified(ctx, got, "")
}

// failed is what the token endpoint answered.
func (k *known) failed(doing string, err error) error {
	var refused *oauth2.RetrieveError
	switch {
	case !errors.As(err, &refused) || refused.ErrorCode == "":
		return errcode.New(errcode.Unavailable, "%s at %s: %w", doing, k.party.Issuer, err)
	case refused.ErrorCode == "invalid_grant":
		return errcode.New(errcode.Unauthorized, "the login has ended: %.300q", cmp.Or(refused.ErrorDescription, refused.ErrorCode))
	case refused.ErrorCode == "access_denied":
		return errcode.New(errcode.Forbidden, "the login was refused in the browser")
	case refused.ErrorCode == "expired_token":
		return errcode.New(errcode.Unavailable, "nobody entered the code in time; run the command again")
	case refused.Response != nil && refused.Response.StatusCode >= 500, refused.ErrorCode == "temporarily_unavailable":
		return errcode.New(errcode.Unavailable, "%s at %s: %.300q", doing, k.party.Issuer, cmp.Or(refused.ErrorDescription, refused.ErrorCode))
	}
	return errcode.New(errcode.Forbidden, "%s at %s: %.300q", doing, k.party.Issuer, cmp.Or(refused.ErrorDescription, refused.ErrorCode))
}

// byBrowser lets a person log in on this machine.
func (k *known) byBrowser(ctx context.Context, quietly bool) (Kept, error) {
	verifier, state, nonce := oauth2.GenerateVerifier(), rand.Text(), rand.Text()
	back, err := Listen(ctx, state, k.party.Issuer)
	if err != nil {
		return Kept{}, err
	}
	defer back.Close(ctx)
	k.config.RedirectURL = back.RedirectURI
	ShowBrowser(ctx, k.party.App, k.config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), k.party.somebody(), quietly)
	code, err := back.Code(ctx)
	if err != nil {
		return Kept{}, err
	}
	got, err := k.config.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return Kept{}, k.failed("log in", err)
	}
	return k.verified(ctx, got, nonce)
}

// byDevice lets a person log in on another machine.
func (k *known) byDevice(ctx context.Context) (Kept, error) {
	if k.config.Endpoint.DeviceAuthURL == "" {
		return Kept{}, errcode.New(errcode.Unprocessable, "the identity provider %s has no login for devices; leave --device out", k.party.Issuer)
	}
	started, err := k.config.DeviceAuth(ctx)
	if err != nil {
		return Kept{}, k.failed("begin the login", err)
	}
	fmt.Fprintf(k.party.App.Err, "open\n  %s\non any machine, log in, and enter this code\n  %s\n", started.VerificationURI, started.UserCode)
	got, err := k.config.DeviceAccessToken(ctx, started)
	if err != nil {
		return Kept{}, k.failed("log in", err)
	}
	return k.verified(ctx, got, "")
}

// verified checks the ID token of an answer, whose nonce is that of this login.
func (k *known) verified(ctx context.Context, got *oauth2.Token, nonce string) (Kept, error) {
	text, _ := got.Extra("id_token").(string)
	if text == "" {
		return Kept{}, errcode.New(errcode.Unprocessable, "the identity provider %s gave no ID token", k.party.Issuer)
	}
	// The provider gave it just now, so that its life begins now, whatever this machine's clock says.
	token, err := k.provider.Verifier(&oidc.Config{ClientID: k.party.ClientID, SkipExpiryCheck: true}).Verify(ctx, text)
	if err == nil && nonce != "" && token.Nonce != nonce {
		err = errors.New("it is of another login")
	}
	var life time.Duration
	if err == nil {
		if life = token.Expiry.Sub(token.IssuedAt); life <= 0 || life > longest {
			err = fmt.Errorf("it lives %s", life)
		}
	}
	if err != nil {
		return Kept{}, errcode.New(errcode.Unprocessable, "the ID token of %s is not right: %w", k.party.Issuer, err)
	}
	return Kept{ID: text, Refresh: got.RefreshToken, ExpiresAt: time.Now().Add(life)}, nil
}

// revoke ends the login of a refresh token.
func (k *known) revoke(ctx context.Context, token string) error {
	var found struct {
		Endpoint string `json:"revocation_endpoint"`
	}
	if err := k.provider.Claims(&found); err != nil || found.Endpoint == "" {
		return errcode.New(errcode.Unprocessable, "the identity provider %s revokes no tokens", k.party.Issuer)
	}
	form := url.Values{"token": {token}, "token_type_hint": {"refresh_token"}, "client_id": {k.party.ClientID}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, found.Endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := k.client.Do(r)
	if err != nil {
		return errcode.New(errcode.Unavailable, "end the login: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errcode.New(errcode.Unavailable, "end the login at %s: it answers %s", k.party.Issuer, answer.Status)
	}
	return nil
}
