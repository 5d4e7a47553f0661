package oidc_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// site is an application on coreos/go-oidc and golang.org/x/oauth2, as their documents show
// one: it sends browsers to log in at /, and shows whom it knows at /callback.
type site struct {
	b        *bed
	url      string
	config   oauth2.Config
	provider *oidc.Provider
	// state, nonce and verifier are those of the one login that is on the way.
	state, nonce, verifier string
	// tokens are those of the last login.
	tokens *oauth2.Token
}

// known is what the site learns of a person.
type known struct {
	Subject, Email string
	Verified       bool     `json:"email_verified"`
	Groups         []string `json:"groups"`
	Info           struct{ Email string }
}

func newSite(b *bed) *site {
	b.T.Helper()
	s := &site{b: b}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.begin)
	mux.HandleFunc("GET /callback", s.callback)
	server := httptest.NewServer(mux)
	b.T.Cleanup(server.Close)
	s.url = server.URL
	b.clients.change(app, func(c *application.Client) { c.RedirectURIs = append(c.RedirectURIs, s.url+"/callback") })
	var err error
	if s.provider, err = oidc.NewProvider(b.T.Context(), b.url+"/oidc"); err != nil {
		b.T.Fatal(err)
	}
	s.config = oauth2.Config{
		ClientID: app, ClientSecret: secret, Endpoint: s.provider.Endpoint(), RedirectURL: s.url + "/callback",
		Scopes: []string{oidc.ScopeOpenID, "email", "groups", oidc.ScopeOfflineAccess},
	}
	return s
}

func (s *site) begin(w http.ResponseWriter, r *http.Request) {
	s.state, s.nonce, s.verifier = rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	http.Redirect(w, r, s.config.AuthCodeURL(s.state, oidc.Nonce(s.nonce), oauth2.S256ChallengeOption(s.verifier)), http.StatusFound)
}

func (s *site) callback(w http.ResponseWriter, r *http.Request) {
	who, err := s.logIn(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	_ = json.NewEncoder(w).Encode(who)
}

func (s *site) logIn(r *http.Request) (who known, err error) {
	q := r.URL.Query()
	if q.Get("state") != s.state || q.Get("iss") != s.b.url+"/oidc" {
		return who, fmt.Errorf("an answer to nobody: %v", q)
	}
	if q.Get("error") != "" {
		return who, fmt.Errorf("%s: %s", q.Get("error"), q.Get("error_description"))
	}
	if s.tokens, err = s.config.Exchange(r.Context(), q.Get("code"), oauth2.VerifierOption(s.verifier)); err != nil {
		return who, err
	}
	return s.verified(r, s.nonce)
}

// verified is what the tokens of the site say.
func (s *site) verified(r *http.Request, nonce string) (who known, err error) {
	text, _ := s.tokens.Extra("id_token").(string)
	token, err := s.provider.Verifier(&oidc.Config{ClientID: app, Now: s.b.Fleet.Clock.Now}).Verify(r.Context(), text)
	if err != nil {
		return who, err
	}
	if err := token.VerifyAccessToken(s.tokens.AccessToken); err != nil || token.Nonce != nonce {
		return who, fmt.Errorf("nonce %q, access token: %w", token.Nonce, err)
	}
	if err := token.Claims(&who); err != nil {
		return who, err
	}
	info, err := s.provider.UserInfo(r.Context(), oauth2.StaticTokenSource(s.tokens))
	if err != nil {
		return who, err
	}
	who.Subject = token.Subject
	return who, info.Claims(&who.Info)
}

// TestAGoOIDCSiteLogsIn lets a site of the library that Kubernetes, Argo CD and most programs
// in Go use log in as a whole: code with PKCE and nonce, userinfo, refresh, and a refusal.
func TestAGoOIDCSiteLogsIn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, 1)
		u := b.user("bob@example.com")
		for _, group := range []string{"shop-admins", "others"} {
			if _, err := b.CreateGroup(t.Context(), b.Ann.Name, group, ""); err != nil {
				t.Fatal(err)
			}
			if err := b.AddMember(t.Context(), b.Ann.Name, group, u.Name); err != nil {
				t.Fatal(err)
			}
		}
		b.clients.change(app, func(c *application.Client) { c.Groups, c.BoundGroupsOnly = []string{"shop-admins"}, true })
		s, v := newSite(b), b.visitor(u.Name)
		v.get(s.url)
		v.answer("allow")
		v.get(v.header.Get("Location"))
		var who known
		if err := json.Unmarshal([]byte(v.page), &who); err != nil {
			t.Fatalf("%d %s", v.status, v.page)
		}
		if who.Subject != u.ID || who.Email != u.Name || !who.Verified || !slices.Equal(who.Groups, []string{"shop-admins"}) || who.Info.Email != u.Name {
			t.Errorf("the site knows %+v", who)
		}
		next, err := s.config.TokenSource(t.Context(), &oauth2.Token{RefreshToken: s.tokens.RefreshToken}).Token()
		if err != nil || next.RefreshToken == s.tokens.RefreshToken {
			t.Fatalf("refresh: %v", err)
		}
		s.tokens = next
		if who, err := s.verified(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), ""); err != nil || who.Subject != u.ID {
			t.Errorf("refreshed: %+v, %v", who, err)
		}
		if left := time.Until(s.tokens.Expiry); left <= 0 || left > 15*time.Minute {
			t.Errorf("the access token ends in %s", left)
		}
		// An answer that another login was waiting for, and a person who says no.
		v.get(s.url + "/callback?" + url.Values{"state": {"other"}, "code": {"axo_c_x"}, "iss": {b.url + "/oidc"}}.Encode())
		if v.status != http.StatusForbidden {
			t.Errorf("another login's answer: %d %s", v.status, v.page)
		}
		b.AddUser("eve@example.com")
		eve := b.visitor("eve@example.com")
		eve.get(s.url)
		if eve.status != http.StatusForbidden || !strings.Contains(eve.page, "Ask olga@example.com for access") {
			t.Errorf("somebody who is not on the list: %d %s", eve.status, eve.page)
		}
	})
}
