package gitagent

import (
	"context"

	"github.com/axle-cd/axle/hub/gitcache/pace"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
)

// connect creates the server again when the repository's row changed.
func (a *Agent) connect(ctx context.Context) error {
	r, err := a.config.Store.Repository(ctx, a.config.RepositoryID)
	if err != nil {
		return err
	}
	if a.server != nil && r.Generation == a.generation {
		return nil
	}
	if a.server != nil {
		a.server.Close()
		a.server = nil
	}
	if err := a.trust(r.Options.Verify); err != nil {
		return err
	}
	s, r, err := a.dial(ctx)
	if err != nil {
		return err
	}
	a.server, a.generation, a.maxBytes, a.host = s, r.Generation, r.Options.MaxBytes, pace.HostOf(r.URL)
	return nil
}

// dial prepares access to upstream as the repository's row says.
func (a *Agent) dial(ctx context.Context) (*upstream.Server, record.Repository, error) {
	r, err := a.config.Store.Repository(ctx, a.config.RepositoryID)
	if err != nil {
		return nil, r, err
	}
	c, err := a.config.Store.Credentials(ctx, r.ID)
	if err != nil {
		return nil, r, err
	}
	s, err := a.config.Git.Server(Access(r, c))
	return s, r, err
}

// Access converts a repository and its credentials for package upstream.
func Access(r record.Repository, c record.Credentials) upstream.Access {
	access := upstream.Access{URL: r.URL, CA: c.CA, ClientCertificate: c.ClientCertificate, ClientKey: c.ClientKey,
		Proxy: r.Options.Proxy, ProxyUsername: c.ProxyUsername, ProxyPassword: c.ProxyPassword}
	switch r.Auth {
	case record.AuthBasic, record.AuthToken:
		access.Username, access.Password = c.Username, c.Password
	case record.AuthSSH:
		access.PrivateKey, access.Passphrase, access.KnownHosts = c.PrivateKey, c.Passphrase, c.KnownHosts
	case record.AuthApp:
		access.App = &upstream.App{ID: c.AppID, InstallationID: c.InstallationID, PrivateKey: c.PrivateKey, APIURL: r.Options.APIURL}
	}
	return access
}
