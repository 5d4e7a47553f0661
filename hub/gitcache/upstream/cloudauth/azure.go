package cloudauth

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// Azure holds an application's secret, or none for the hub's workload identity.
type Azure struct {
	TenantID, ClientID, ClientSecret string
	// HubIdentity allows the hub's workload identity where there is no secret.
	HubIdentity bool
	// Endpoint replaces the authority that issues tokens.
	Endpoint string
	Client   *wire.Client
	Env      Environment

	access  cell[token]
	refresh cell[string]
}

// Registry returns the registry's refresh token, in exchange for an Azure
// token.
func (a *Azure) Registry(ctx context.Context, host string, plainHTTP bool) (string, error) {
	scheme := "https"
	if plainHTTP {
		scheme = "http"
	}
	if err := a.mayLeave(&url.URL{Scheme: scheme, Host: host}, azureRegistries); err != nil {
		return "", err
	}
	return a.refresh.get(func() (string, time.Time, error) {
		t, err := a.token(ctx, "https://containerregistry.azure.net/.default")
		if err != nil {
			return "", time.Time{}, err
		}
		var said granted
		err = post(ctx, a.Client, scheme+"://"+host+"/oauth2/exchange",
			url.Values{"grant_type": {"access_token"}, "service": {host}, "tenant": {a.tenant()}, "access_token": {t}}, &said)
		if err == nil && said.Refresh == "" {
			err = errcode.New(errcode.Unavailable, "%s exchanges the token for none", host)
		}
		// The registry's token lives three hours, but its answer does not say
		// so.
		return said.Refresh, time.Now().Add(time.Hour), err
	})
}

// Bucket authenticates requests to Blob Storage.
func (a *Azure) Bucket() wire.Auth { return azureAuth{a} }

type azureAuth struct{ azure *Azure }

// Apply sets the Authorization header and the API version that it needs.
func (b azureAuth) Apply(ctx context.Context, r *http.Request) error {
	if err := b.azure.mayLeave(r.URL, azureStorage); err != nil {
		return err
	}
	t, err := b.azure.token(ctx, "https://storage.azure.com/.default")
	if err != nil {
		return err
	}
	return wire.Bearer(t).Apply(ctx, r)
}

func (a *Azure) mayLeave(to *url.URL, service hosts) error {
	if a.ClientSecret != "" {
		return nil
	}
	return a.Env.mayLeave(a.HubIdentity, a.Client, to, service)
}

func (a *Azure) tenant() string {
	if a.TenantID != "" {
		return a.TenantID
	}
	return a.Env.get("AZURE_TENANT_ID")
}

func (a *Azure) token(ctx context.Context, scope string) (string, error) {
	t, err := a.access.get(func() (token, time.Time, error) {
		t, err := a.ask(ctx, scope)
		return t, t.until, err
	})
	return t.value, err
}

// ask exchanges the secret, or the token of the hub's own service account.
func (a *Azure) ask(ctx context.Context, scope string) (token, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {scope}, "client_id": {a.ClientID}}
	if a.ClientSecret != "" {
		form.Set("client_secret", a.ClientSecret)
	} else {
		if a.Env.get("AZURE_FEDERATED_TOKEN_FILE") == "" {
			return token{}, errcode.New(errcode.Unauthorized, "the repository has no Azure client secret and the hub has no workload identity in its environment")
		}
		assertion, err := a.Env.file("AZURE_FEDERATED_TOKEN_FILE")
		if err != nil {
			return token{}, err
		}
		if a.ClientID == "" {
			form.Set("client_id", a.Env.get("AZURE_CLIENT_ID"))
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	}
	authority, err := a.authority()
	if err != nil {
		return token{}, err
	}
	var said granted
	if err := post(ctx, a.Client, strings.TrimSuffix(authority, "/")+"/"+url.PathEscape(a.tenant())+"/oauth2/v2.0/token", form, &said); err != nil {
		return token{}, err
	}
	return said.token()
}

// authority returns the URL of the authority. The authority receives the hub's
// own token, so that token goes only to the cloud's authorities, or to the one
// in the hub's environment.
func (a *Azure) authority() (string, error) {
	authority := a.Endpoint
	if authority == "" {
		authority = a.Env.get("AZURE_AUTHORITY_HOST")
	} else if u, err := url.Parse(authority); err != nil {
		return "", errcode.New(errcode.Invalid, "the endpoint is not a URL")
	} else if err := a.mayLeave(u, azureAuthorities); err != nil {
		return "", err
	}
	if authority == "" {
		authority = "https://login.microsoftonline.com"
	}
	return authority, nil
}
