package artifactagent

import (
	"context"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/cloudauth"
	"github.com/axle-cd/axle/hub/gitcache/upstream/registry"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

func unknownAuth(r record.Repository) error {
	return errcode.New(errcode.Invalid, "authentication %q is not known for repositories of type %s", r.Auth, r.Kind)
}

// httpAuth returns the authentication of requests to a chart repository or a
// bucket; nil for none.
func (c *Config) httpAuth(r record.Repository, creds record.Credentials, client *wire.Client) (wire.Auth, error) {
	switch r.Auth {
	case record.AuthNone:
		return nil, nil
	case record.AuthBasic, record.AuthToken:
		return wire.Basic{Username: creds.Username, Password: creds.Password}, nil
	case record.AuthBearer:
		return wire.Bearer(creds.Password), nil
	case record.AuthAWS:
		return c.aws(r, creds, client).S3(), nil // a chart repository in a bucket
	case record.AuthGCP:
		return c.google(r, creds, client).Bucket(), nil
	case record.AuthAzure:
		return c.azure(r, creds, client).Bucket(), nil
	}
	return nil, unknownAuth(r)
}

func (c *Config) aws(r record.Repository, creds record.Credentials, client *wire.Client) *cloudauth.AWS {
	out := &cloudauth.AWS{AccessKeyID: creds.AccessKeyID, SecretAccessKey: creds.SecretAccessKey, SessionToken: creds.SessionToken,
		AssumeRoleARN: creds.AssumeRoleARN, Region: r.Options.Region, HubIdentity: r.Options.HubIdentity, Client: client, Env: c.Env}
	if r.Kind == record.OCI {
		out.Endpoint = r.Options.Endpoint
	}
	return out
}

func (c *Config) google(r record.Repository, creds record.Credentials, client *wire.Client) *cloudauth.Google {
	return &cloudauth.Google{ServiceAccountJSON: creds.ServiceAccountJSON, HubIdentity: r.Options.HubIdentity, Client: client, Env: c.Env}
}

func (c *Config) azure(r record.Repository, creds record.Credentials, client *wire.Client) *cloudauth.Azure {
	out := &cloudauth.Azure{TenantID: creds.TenantID, ClientID: creds.ClientID, ClientSecret: creds.ClientSecret, HubIdentity: r.Options.HubIdentity, Client: client, Env: c.Env}
	if r.Kind == record.OCI {
		out.Endpoint = r.Options.Endpoint
	}
	return out
}

// anyUser is used where a registry requires a user name but checks only the
// token.
const anyUser = "axle"

// registryLogin returns the login for a registry; nil is anonymous.
func (c *Config) registryLogin(r record.Repository, creds record.Credentials, client *wire.Client, host string) (func(context.Context) (registry.Login, error), error) {
	fixed := func(l registry.Login) func(context.Context) (registry.Login, error) {
		return func(context.Context) (registry.Login, error) { return l, nil }
	}
	switch r.Auth {
	case record.AuthNone:
		return nil, nil
	case record.AuthBasic, record.AuthToken:
		l := registry.Login{Username: creds.Username, Password: creds.Password}
		if l.Username == "" {
			l.Username = anyUser
		}
		return fixed(l), nil
	case record.AuthBearer:
		return fixed(registry.Login{AccessToken: creds.Password}), nil
	case record.AuthAWS:
		cloud := c.aws(r, creds, client)
		return func(ctx context.Context) (l registry.Login, err error) {
			l.Username, l.Password, err = cloud.Registry(ctx, host)
			return l, err
		}, nil
	case record.AuthGCP:
		cloud := c.google(r, creds, client)
		return func(ctx context.Context) (l registry.Login, err error) {
			l.Username, l.Password, err = cloud.Registry(ctx, host)
			return l, err
		}, nil
	case record.AuthAzure:
		cloud := c.azure(r, creds, client)
		return func(ctx context.Context) (l registry.Login, err error) {
			l.RefreshToken, err = cloud.Registry(ctx, host, r.Options.PlainHTTP)
			return l, err
		}, nil
	}
	return nil, unknownAuth(r)
}
