package gitagent

import (
	"context"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
)

// connect creates the server again when the repository's row changed.
func (a *Agent) connect(ctx context.Context) error {
	return a.Connect(ctx, func(r record.Repository, c record.Credentials) (func(string) string, error) {
		if a.server != nil {
			a.server.Close()
			a.server = nil
		}
		if err := a.trust(r.Options.Verify); err != nil {
			return nil, err
		}
		s, err := a.config.Git.Server(Access(r, c))
		if err != nil {
			return nil, err
		}
		a.server, a.maxBytes = s, r.Options.MaxBytes
		return s.Scrub, nil
	})
}

// dial prepares access to upstream beside the passes, as the row says now.
func (a *Agent) dial(ctx context.Context) (*git.Server, record.Repository, error) {
	r, err := a.Config.Rows.Repository(ctx, a.Config.RepositoryID)
	if err != nil {
		return nil, r, err
	}
	c, err := a.Config.Rows.Credentials(ctx, r.ID)
	if err != nil {
		return nil, r, err
	}
	s, err := a.config.Git.Server(Access(r, c))
	return s, r, err
}

// Access converts a repository and its credentials for package upstream.
func Access(r record.Repository, c record.Credentials) git.Access {
	access := git.Access{URL: r.URL, CA: c.CA, ClientCertificate: c.ClientCertificate, ClientKey: c.ClientKey,
		Proxy: r.Options.Proxy, ProxyUsername: c.ProxyUsername, ProxyPassword: c.ProxyPassword}
	switch r.Auth {
	case record.AuthBasic, record.AuthToken:
		access.Username, access.Password = c.Username, c.Password
	case record.AuthSSH:
		// The short form host:path is relative to the user's home; its long form is not.
		access.URL = r.Address()
		access.PrivateKey, access.Passphrase, access.KnownHosts = c.PrivateKey, c.Passphrase, c.KnownHosts
	case record.AuthApp:
		access.App = &git.App{ID: c.AppID, InstallationID: c.InstallationID, PrivateKey: c.PrivateKey, APIURL: r.Options.APIURL}
	}
	return access
}
