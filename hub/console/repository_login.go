package console

import (
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/errcode"
)

var authKinds = map[string]gitcache.AuthKind{
	"none": gitcache.AuthNone, "basic": gitcache.AuthBasic, "token": gitcache.AuthToken, "ssh": gitcache.AuthSSH, "app": gitcache.AuthApp,
	"bearer": gitcache.AuthBearer, "aws": gitcache.AuthAWS, "gcp": gitcache.AuthGCP, "azure": gitcache.AuthAzure,
}

// login returns the requested authentication kind, or derives it from the
// credentials.
func login(kind string, c *hubv1.RepositoryCredentials) (gitcache.AuthKind, gitcache.Credentials, error) {
	out := gitcache.Credentials{
		Username: c.GetUsername(), Password: c.GetPassword(), PrivateKey: c.GetPrivateKey(),
		Passphrase: c.GetPassphrase(), KnownHosts: c.GetKnownHosts(), CA: c.GetCaPem(),
		ClientCertificate: c.GetClientCertificate(), ClientKey: c.GetClientKey(),
		ProxyUsername: c.GetProxyUsername(), ProxyPassword: c.GetProxyPassword(),
		AppID: c.GetAppId(), InstallationID: c.GetInstallationId(),
		AccessKeyID: c.GetAccessKeyId(), SecretAccessKey: c.GetSecretAccessKey(), SessionToken: c.GetSessionToken(), AssumeRoleARN: c.GetAssumeRoleArn(),
		ServiceAccountJSON: c.GetServiceAccountJson(), TenantID: c.GetTenantId(), ClientID: c.GetClientId(), ClientSecret: c.GetClientSecret(),
	}
	if kind != "" {
		auth, ok := authKinds[kind]
		if !ok {
			return "", out, errcode.New(errcode.Invalid, "authentication %.40q is not known; use none, basic, token, ssh, app, bearer, aws, gcp or azure", kind)
		}
		return auth, out, nil
	}
	return guess(out), out, nil
}

// guess returns the only authentication kind that fits the credentials.
func guess(c gitcache.Credentials) gitcache.AuthKind {
	switch {
	case c.AppID != "":
		return gitcache.AuthApp
	case c.PrivateKey != "":
		return gitcache.AuthSSH
	case c.AccessKeyID != "" || c.AssumeRoleARN != "":
		return gitcache.AuthAWS
	case c.ServiceAccountJSON != "":
		return gitcache.AuthGCP
	case c.ClientSecret != "":
		return gitcache.AuthAzure
	case c.Username != "":
		return gitcache.AuthBasic
	case c.Password != "":
		return gitcache.AuthToken
	}
	return gitcache.AuthNone
}

func options(o *hubv1.RepositoryOptions) gitcache.Options {
	return gitcache.Options{
		Proxy: o.GetProxy(), APIURL: o.GetApiUrl(), Region: o.GetRegion(), Endpoint: o.GetEndpoint(), PlainHTTP: o.GetPlainHttp(),
		PassCredentials: o.GetPassCredentials(), MaxBytes: o.GetMaxBytes(), HubIdentity: o.GetHubIdentity(),
		Verify: gitcache.Verify{Mode: o.GetVerify().GetMode(), Keys: o.GetVerify().GetKeys()},
	}
}

// optionsOf converts repository options from the cache to the API; nil when all
// are unset.
func optionsOf(o gitcache.Options) *hubv1.RepositoryOptions {
	out := &hubv1.RepositoryOptions{
		Proxy: o.Proxy, ApiUrl: o.APIURL, Region: o.Region, Endpoint: o.Endpoint, PlainHttp: o.PlainHTTP,
		PassCredentials: o.PassCredentials, MaxBytes: o.MaxBytes, HubIdentity: o.HubIdentity,
	}
	if o.Verify.Mode != "" {
		out.Verify = &hubv1.Verification{Mode: o.Verify.Mode, Keys: o.Verify.Keys}
	}
	return out
}
