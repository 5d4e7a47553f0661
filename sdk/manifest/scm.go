package manifest

import (
	"cmp"
	"net/url"
	"strings"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
)

// scmServers are the servers of the types of ScmConnections, and the user beside a token
// where the server does not care for the name.
var scmServers = map[string]struct{ url, user string }{
	"GITHUB":               {"https://github.com", "x-access-token"},
	"GITLAB":               {"https://gitlab.com", "oauth2"},
	"BITBUCKET":            {"https://bitbucket.org", "x-token-auth"},
	"BITBUCKET_DATACENTER": {"", "x-token-auth"},
	"AZURE_DEVOPS":         {"https://dev.azure.com", "axle"},
}

// SecretsOfConnection returns the Secrets that a ScmConnection names, by field. That of a
// key is in the namespace of the token's reference.
func SecretsOfConnection(c *v1alpha1.ScmConnection) map[string]v1alpha1.SecretReference {
	out, token := map[string]v1alpha1.SecretReference{}, value(c.Spec.TokenSecretRef)
	if app := c.Spec.GitHub; app != nil && app.PrivateKeyRef != nil {
		out["spec.github.privateKeyRef"] = v1alpha1.SecretReference{Namespace: token.Namespace, Name: app.PrivateKeyRef.Name}
	} else if token.Name != "" {
		out["spec.tokenSecretRef"] = token
	}
	return out
}

// scmConnection is an account at a Git server. It is nothing in the hub itself: the
// repositories that name it log in with it. In files it is read with them.
func (d document) scmConnection(values Values) (*Item, error) {
	if _, inFiles := values.(files); inFiles {
		return nil, nil
	}
	var object v1alpha1.ScmConnection
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	request := &hubv1.CreateRepositoryRequest{Name: object.Spec.Name}
	if err := logIn(d, values, &object, request); err != nil {
		return nil, err
	}
	spec := object.Spec
	return &Item{Kind: d.meta.Kind, Name: spec.Name, Where: d.where, Request: request, NotActing: set(map[string]bool{
		"spec.azure.organization":  value(spec.Azure).Organization != "",
		"spec.azure.project":       value(spec.Azure).Project != "",
		"spec.bitbucketDatacenter": spec.BitbucketDatacenter != nil,
		"spec.default":             value(spec.Default),
		"spec.proxy.noproxy":       value(spec.Proxy).Noproxy != nil,
	})}, nil
}

// logIn fills a request with the account of a connection. The URL of a repository must be
// on the connection's server: whoever may register a repository would otherwise send the
// account to a server of their own.
func logIn(d document, values Values, c *v1alpha1.ScmConnection, request *hubv1.CreateRepositoryRequest) error {
	spec := c.Spec
	invalid := func(format string, args ...any) error {
		return errcode.New(errcode.Invalid, "%s: ScmConnection %q: "+format, append([]any{d.where, c.Name}, args...)...)
	}
	server := scmServers[spec.Type]
	at := cmp.Or(strings.TrimSuffix(value(spec.BaseURL), "/"), server.url)
	if at == "" {
		return invalid("spec.baseUrl is required for %s: it is the server of the repositories", spec.Type)
	}
	if !onServer(request.GetUrl(), at) {
		return invalid("the account is for %s, and is not sent to %s: use an https URL of that server, or credentialsRef", at, request.GetUrl())
	}
	request.Options = &hubv1.RepositoryOptions{Proxy: value(spec.Proxy).URL, ApiUrl: value(spec.APIURL)}
	token := value(spec.TokenSecretRef)
	read := func(ref v1alpha1.SecretReference, key string) (string, error) {
		if ref.Namespace == "" {
			return "", invalid("spec.tokenSecretRef.namespace is required: the kind has no namespace of its own")
		}
		held, err := values.Secret(ref.Namespace, ref.Name)
		if err == nil && held[key] == "" {
			err = invalid("Secret %s/%s has no key %s", ref.Namespace, ref.Name, key)
		}
		return held[key], err
	}
	var err error
	switch app := spec.GitHub; {
	case app != nil && app.PrivateKeyRef != nil:
		request.Auth, request.Credentials = "app", &hubv1.RepositoryCredentials{AppId: value(app.AppID), InstallationId: value(app.InstallationID)}
		request.Credentials.PrivateKey, err = read(v1alpha1.SecretReference{Namespace: token.Namespace, Name: app.PrivateKeyRef.Name}, app.PrivateKeyRef.Key)
	case token.Name != "":
		user := cmp.Or(value(spec.Username), value(spec.Azure).Username, server.user)
		request.Auth, request.Credentials, request.Options.ApiUrl = "token", &hubv1.RepositoryCredentials{Username: user}, ""
		request.Credentials.Password, err = read(token, "token")
	default:
		return invalid("set spec.tokenSecretRef, or spec.github with privateKeyRef")
	}
	return err
}

// onServer reports whether the URL of a repository is on a server: the same scheme, host
// and port, and below its path. An empty URL is that of no repository.
func onServer(text, server string) bool {
	at, err := url.Parse(server)
	return text == "" || err == nil && at.Host != "" && strings.HasPrefix(repourl.Normal("helm", text), repourl.Normal("helm", server)+"/")
}
