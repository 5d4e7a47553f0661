package manifest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// fluxLogin makes the request of a source, and reads its Secrets. Which key of a Secret
// is which credential is Flux's.
type fluxLogin struct {
	*FluxSource
	values  Values
	request *hubv1.CreateRepositoryRequest
	c       *hubv1.RepositoryCredentials
}

// request is what creates the repository of the source, without its name. How it logs in
// is always said, so that credentials which the source no longer names go.
func (s *FluxSource) request(values Values) (*hubv1.CreateRepositoryRequest, error) {
	l := fluxLogin{s, values, &hubv1.CreateRepositoryRequest{Url: strings.TrimSpace(s.spec.URL), Auth: "none", Options: &hubv1.RepositoryOptions{}}, &hubv1.RepositoryCredentials{}}
	build := map[string]func() error{"GitRepository": l.git, "HelmRepository": l.helm, "OCIRepository": l.oci, "Bucket": l.bucket}[s.Kind]
	if build == nil {
		return nil, s.invalid("the kind is none of %s", strings.Join(FluxKinds, ", "))
	}
	if err := build(); err != nil {
		return nil, err
	}
	if err := l.proxy(); err != nil {
		return nil, err
	}
	if l.request.GetUrl() == "" {
		return nil, s.invalid("spec.url is missing")
	}
	if proto.Size(l.c) > 0 {
		l.request.Credentials = l.c
	}
	return l.request, nil
}

// secret reads a Secret of the source's namespace; without a name it is empty.
func (l fluxLogin) secret(ref fluxName) (map[string]string, error) {
	if ref.Name == "" {
		return nil, nil
	}
	return l.values.Secret(l.Namespace, ref.Name)
}

// tls takes certificates, by their names and by older ones.
func (l fluxLogin) tls(held map[string]string) {
	l.c.CaPem = cmp.Or(held["ca.crt"], held["caFile"], l.c.GetCaPem())
	l.c.ClientCertificate = cmp.Or(held["tls.crt"], held["certFile"], l.c.GetClientCertificate())
	l.c.ClientKey = cmp.Or(held["tls.key"], held["keyFile"], l.c.GetClientKey())
}

// basic takes a user and a password, if there are some.
func (l fluxLogin) basic(held map[string]string) {
	if held["username"] != "" || held["password"] != "" {
		l.request.Auth, l.c.Username, l.c.Password = "basic", held["username"], held["password"]
	}
}

func (l fluxLogin) git() error {
	l.request.Type = "git"
	held, err := l.secret(l.spec.SecretRef)
	if err != nil {
		return err
	}
	switch provider := l.spec.Provider; {
	case provider == "github":
		l.request.Auth, l.c.AppId, l.c.PrivateKey = "app", held["githubAppID"], held["githubAppPrivateKey"]
		l.c.InstallationId, l.request.Options.ApiUrl = held["githubAppInstallationID"], held["githubAppBaseURL"]
		l.c.CaPem = held["ca.crt"]
	case provider != "" && provider != "generic":
		return l.invalid("spec.provider %s: the hub has no identity of a cloud for Git; use a Secret with a token or a key", provider)
	case strings.HasPrefix(l.spec.URL, "ssh://"):
		l.request.Auth, l.c.PrivateKey, l.c.Passphrase, l.c.KnownHosts = "ssh", held["identity"], held["password"], held["known_hosts"]
	default:
		l.tls(held)
		l.basic(held)
		if token := held["bearerToken"]; token != "" {
			l.request.Auth, l.c.Username, l.c.Password = "token", "", token
		}
	}
	return l.verify(map[string]string{"": "head", "head": "head", "HEAD": "head", "Tag": "tag"})
}

// verify takes the keys. What cannot be verified as the source says is an error: content
// that nobody checked must not pass for checked.
func (l fluxLogin) verify(modes map[string]string) error {
	v := l.spec.Verify
	if v == nil {
		return nil
	}
	mode, ok := modes[cmp.Or(v.Mode, v.Provider)]
	if !ok {
		return l.invalid("spec.verify: the hub does not verify %s; verify %s", cmp.Or(v.Mode, v.Provider), strings.Join(slices.Sorted(maps.Keys(modes)), " or "))
	}
	held, err := l.secret(v.SecretRef)
	if err != nil {
		return err
	}
	if len(held) == 0 {
		return l.invalid("spec.verify names no Secret with keys, and the hub verifies no keyless signatures")
	}
	l.request.Options.Verify = &hubv1.Verification{Mode: mode}
	for _, key := range slices.Sorted(maps.Keys(held)) {
		l.request.Options.Verify.Keys = append(l.request.Options.Verify.Keys, held[key])
	}
	return nil
}

func (l fluxLogin) helm() error {
	l.request.Type = "helm"
	if l.spec.Type == "oci" || isOCI(l.spec.URL) {
		return l.registry()
	}
	held, err := l.secret(l.spec.SecretRef)
	if err != nil {
		return err
	}
	l.tls(held)
	l.basic(held)
	l.request.Options.PassCredentials = l.spec.PassCredentials
	return l.certificates()
}

func (l fluxLogin) certificates() error {
	held, err := l.secret(l.spec.CertSecretRef)
	l.tls(held)
	return err
}

func (l fluxLogin) oci() error {
	if err := l.registry(); err != nil {
		return err
	}
	return l.verify(map[string]string{"cosign": "cosign"})
}

// registry logs in to a registry: with a Secret of the registry's host, or with the
// hub's own identity in a cloud.
func (l fluxLogin) registry() error {
	l.request.Type, l.request.Options.PlainHttp = "oci", l.spec.Insecure
	held, err := l.secret(l.spec.SecretRef)
	if err != nil {
		return err
	}
	l.tls(held)
	l.basic(held)
	if text, ok := held[".dockerconfigjson"]; ok {
		if err := l.docker(text); err != nil {
			return err
		}
	}
	if provider := l.spec.Provider; l.spec.SecretRef.Name == "" && provider != "" && provider != "generic" {
		l.request.Auth, l.request.Options.HubIdentity = provider, true
	}
	return l.certificates()
}

// docker takes the login of the registry's own host, and of no other.
func (l fluxLogin) docker(text string) error {
	var config struct {
		Auths map[string]struct {
			Username string `json:"username"`
			Password string `json:"password"`
			Auth     string `json:"auth"`
		} `json:"auths"`
	}
	if json.Unmarshal([]byte(text), &config) != nil {
		return l.invalid("Secret %s: .dockerconfigjson is not what docker login writes", l.spec.SecretRef.Name) // its text is secret
	}
	at, err := url.Parse(l.spec.URL)
	if err != nil {
		return l.invalid("spec.url is not a URL")
	}
	for _, name := range slices.Sorted(maps.Keys(config.Auths)) {
		host := strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
		if host, _, _ = strings.Cut(host, "/"); registryHost(host) != registryHost(at.Host) {
			continue
		}
		login := config.Auths[name]
		if decoded, err := base64.StdEncoding.DecodeString(login.Auth); err == nil && login.Auth != "" {
			login.Username, login.Password, _ = strings.Cut(string(decoded), ":")
		}
		l.basic(map[string]string{"username": login.Username, "password": login.Password})
		return nil
	}
	return l.invalid("Secret %s has no login for %s", l.spec.SecretRef.Name, at.Host)
}

// registryHost is one name for the hosts of Docker Hub.
func registryHost(host string) string {
	if host == "index.docker.io" || host == "registry-1.docker.io" {
		return "docker.io"
	}
	return host
}

func (l fluxLogin) bucket() error {
	l.request.Type, l.request.Options.Region = "bucket", l.spec.Region
	held, err := l.secret(l.spec.SecretRef)
	if err != nil {
		return err
	}
	named := l.spec.SecretRef.Name != ""
	switch provider := cmp.Or(l.spec.Provider, "generic"); provider {
	case "generic", "aws":
		l.request.Url = "s3://" + l.spec.BucketName
		if provider == "generic" || !strings.HasSuffix(l.spec.Endpoint, ".amazonaws.com") {
			scheme := "https://"
			if l.spec.Insecure {
				scheme = "http://"
			}
			l.request.Options.Endpoint = scheme + l.spec.Endpoint
		}
		if named {
			l.request.Auth, l.c.AccessKeyId, l.c.SecretAccessKey = "aws", held["accesskey"], held["secretkey"]
		} else if provider == "aws" {
			l.request.Auth, l.request.Options.HubIdentity = "aws", true
		}
	case "gcp":
		l.request.Url, l.request.Auth, l.c.ServiceAccountJson = "gs://"+l.spec.BucketName, "gcp", held["serviceaccount"]
		l.request.Options.HubIdentity = !named
	case "azure":
		account, _, _ := strings.Cut(strings.TrimPrefix(l.spec.Endpoint, "https://"), ".")
		l.request.Url, l.request.Auth = "azblob://"+account+"/"+l.spec.BucketName, "azure"
		l.c.TenantId, l.c.ClientId, l.c.ClientSecret = held["tenantId"], held["clientId"], held["clientSecret"]
		if l.request.Options.HubIdentity = !named; named && l.c.GetClientSecret() == "" {
			return l.invalid("Secret %s has no clientSecret; the hub logs in to Azure with tenantId, clientId and clientSecret, or with its own identity", l.spec.SecretRef.Name)
		}
	default:
		return l.invalid("spec.provider %s is none of generic, aws, gcp and azure", provider)
	}
	return l.certificates()
}

func (l fluxLogin) proxy() error {
	held, err := l.secret(l.spec.ProxySecretRef)
	if err != nil {
		return err
	}
	l.request.Options.Proxy, l.c.ProxyUsername, l.c.ProxyPassword = held["address"], held["username"], held["password"]
	return nil
}
