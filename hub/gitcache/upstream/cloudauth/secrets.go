package cloudauth

import (
	"context"
	"net/http"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
)

// ServiceURL returns a service's URL in the region.
func (a *AWS) ServiceURL(service string) (string, error) { return serviceURL(service, a.region()) }

// Sign signs one request with its body for a service of AWS. The hub's own
// credentials are sent only to the cloud's hosts.
func (a *AWS) Sign(ctx context.Context, service, body string, r *http.Request) error {
	if err := a.mayLeave(r.URL, awsService(service)); err != nil {
		return err
	}
	keys, err := a.credentials(ctx)
	if err != nil {
		return err
	}
	return signer{keys: keys, service: service, region: a.region(), body: body}.Apply(ctx, r)
}

// KeyVault authenticates requests to Azure Key Vault.
func (a *Azure) KeyVault() wire.Auth { return vaultAuth{a} }

type vaultAuth struct{ azure *Azure }

// Apply sets the Authorization header.
func (v vaultAuth) Apply(ctx context.Context, r *http.Request) error {
	if err := v.azure.mayLeave(r.URL, azureVaults); err != nil {
		return err
	}
	t, err := v.azure.token(ctx, "https://vault.azure.net/.default")
	if err != nil {
		return err
	}
	return wire.Bearer(t).Apply(ctx, r)
}
