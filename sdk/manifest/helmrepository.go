package manifest

import (
	"cmp"
	"strings"

	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// helmRepository is a repository of the type helm or, for oci URLs, oci.
func (d document) helmRepository(values Values) (*Item, error) {
	var object v1alpha1.HelmRepository
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	if spec.URL == "" {
		return nil, errcode.New(errcode.Invalid, "%s: HelmRepository %q has no spec.url", d.where, object.Name)
	}
	request := &hubv1.CreateRepositoryRequest{Name: object.Name, Type: "helm", Url: strings.TrimSpace(spec.URL)}
	if isOCI(request.GetUrl()) {
		request.Type = "oci"
	}
	notActing := map[string]bool{"spec.reconciliation": spec.Reconciliation != nil}
	if auth := spec.Auth; auth != nil {
		login := helmLogin{document: d, values: values, namespace: object.Namespace, request: request}
		if err := login.fill(cmp.Or(value(spec.Provider), providerOf(auth)), auth); err != nil {
			return nil, err
		}
		if auth.Proxy != nil {
			login.options().Proxy = auth.Proxy.URL
			notActing["spec.auth.proxy.noproxy"] = auth.Proxy.Noproxy != nil
		}
		notActing["spec.auth.azure.subscriptionId"] = auth.Azure != nil && auth.Azure.SubscriptionID != nil
	}
	return &Item{Kind: d.meta.Kind, Name: object.Name, Where: d.where, Request: request, NotActing: set(notActing)}, nil
}

// isOCI reports whether a URL is that of a registry.
func isOCI(url string) bool {
	scheme, _, found := strings.Cut(url, "://")
	return found && strings.EqualFold(scheme, "oci")
}

// providerOf is the provider of the only field that is set, for objects that name none.
func providerOf(auth *v1alpha1.HelmRepositoryAuth) string {
	switch {
	case auth.Basic != nil:
		return "BASIC"
	case auth.Bearer != nil:
		return "BEARER"
	case auth.AWS != nil:
		return "AWS"
	case auth.Azure != nil:
		return "AZURE"
	case auth.GCP != nil:
		return "GCP"
	}
	return ""
}

// helmLogin fills a request with credentials.
type helmLogin struct {
	document
	values    Values
	namespace string
	request   *hubv1.CreateRepositoryRequest
}

func (l helmLogin) options() *hubv1.RepositoryOptions {
	if l.request.GetOptions() == nil {
		l.request.Options = &hubv1.RepositoryOptions{}
	}
	return l.request.GetOptions()
}

func (l helmLogin) fill(provider string, auth *v1alpha1.HelmRepositoryAuth) (err error) {
	c, request := &hubv1.RepositoryCredentials{}, l.request
	switch {
	case provider == "":
		return nil
	case provider == "BASIC" && auth.Basic != nil:
		request.Auth, c.Username = "basic", auth.Basic.Username
		c.Password, err = l.secret("password", auth.Basic.PasswordSecretRef, auth.Basic.PasswordSecretKeyRef)
	case provider == "BEARER" && auth.Bearer != nil:
		request.Auth = "bearer"
		c.Password, err = l.secret("token", auth.Bearer.TokenSecretRef, auth.Bearer.TokenSecretKeyRef)
	case provider == "AWS":
		request.Auth = "aws"
		if auth.AWS != nil {
			c.AccessKeyId, c.AssumeRoleArn = value(auth.AWS.AccessKey), value(auth.AWS.AssumeRoleArn)
			c.SecretAccessKey, err = l.secret("secretAccessKey", auth.AWS.SecretAccessKeySecretRef, auth.AWS.SecretAccessKeySecretKeyRef)
		}
		l.options().HubIdentity = c.GetAccessKeyId() == ""
	case provider == "AZURE":
		request.Auth = "azure"
		if auth.Azure != nil {
			c.TenantId, c.ClientId = value(auth.Azure.TenantID), value(auth.Azure.ClientID)
			c.ClientSecret, err = l.secret("clientSecret", auth.Azure.ClientSecretSecretRef, auth.Azure.ClientSecretSecretKeyRef)
		}
		l.options().HubIdentity = c.GetClientSecret() == ""
	case provider == "GCP":
		request.Auth = "gcp"
		if auth.GCP != nil {
			c.ServiceAccountJson, err = l.secret("applicationCredentials", auth.GCP.ApplicationCredentialsSecretRef, auth.GCP.ApplicationCredentialsSecretKeyRef)
		}
		l.options().HubIdentity = c.GetServiceAccountJson() == ""
	default:
		return errcode.New(errcode.Invalid, "%s: HelmRepository %q: spec.provider is %s, and spec.auth.%s is not set", l.where, request.GetName(), provider, strings.ToLower(provider))
	}
	request.Credentials = c
	return err
}

// secret reads a value by key, or, as older objects have it, that of a Secret with only
// one key or with the usual one. Without a reference it is empty.
func (l helmLogin) secret(usual string, whole *v1alpha1.SecretReference, one *v1alpha1.KeySelector) (string, error) {
	switch {
	case one != nil:
		held, err := l.values.Secret(l.namespace, one.Name)
		if err != nil {
			return "", err
		}
		if found, ok := held[one.Key]; ok || value(one.Optional) {
			return found, nil
		}
		return "", errcode.New(errcode.Invalid, "%s: Secret %s/%s has no key %s", l.where, l.namespace, one.Name, one.Key)
	case whole != nil:
		held, err := l.document.secret(l.values, whole, l.namespace)
		if err != nil {
			return "", err
		}
		if len(held) == 1 {
			for _, only := range held {
				return only, nil
			}
		}
		if found, ok := held[usual]; ok {
			return found, nil
		}
		return "", errcode.New(errcode.Invalid, "%s: Secret %s/%s has %d keys and none is %s; name the key", l.where, cmp.Or(whole.Namespace, l.namespace), whole.Name, len(held), usual)
	}
	return "", nil
}

// SecretsOf returns the Secrets that a HelmRepository names, each with the path of the
// field and its namespace.
func SecretsOf(repository *v1alpha1.HelmRepository) map[string]v1alpha1.SecretReference {
	out := map[string]v1alpha1.SecretReference{}
	add := func(field string, whole *v1alpha1.SecretReference, one *v1alpha1.KeySelector) {
		switch {
		case one != nil:
			out[field+"SecretKeyRef"] = v1alpha1.SecretReference{Namespace: repository.Namespace, Name: one.Name}
		case whole != nil:
			out[field+"SecretRef"] = v1alpha1.SecretReference{Namespace: cmp.Or(whole.Namespace, repository.Namespace), Name: whole.Name}
		}
	}
	auth := repository.Spec.Auth
	if auth == nil {
		return out
	}
	switch provider := cmp.Or(value(repository.Spec.Provider), providerOf(auth)); {
	case provider == "BASIC" && auth.Basic != nil:
		add("spec.auth.basic.password", auth.Basic.PasswordSecretRef, auth.Basic.PasswordSecretKeyRef)
	case provider == "BEARER" && auth.Bearer != nil:
		add("spec.auth.bearer.token", auth.Bearer.TokenSecretRef, auth.Bearer.TokenSecretKeyRef)
	case provider == "AWS" && auth.AWS != nil:
		add("spec.auth.aws.secretAccessKey", auth.AWS.SecretAccessKeySecretRef, auth.AWS.SecretAccessKeySecretKeyRef)
	case provider == "AZURE" && auth.Azure != nil:
		add("spec.auth.azure.clientSecret", auth.Azure.ClientSecretSecretRef, auth.Azure.ClientSecretSecretKeyRef)
	case provider == "GCP" && auth.GCP != nil:
		add("spec.auth.gcp.applicationCredentials", auth.GCP.ApplicationCredentialsSecretRef, auth.GCP.ApplicationCredentialsSecretKeyRef)
	}
	return out
}

// RepositoryOptions returns what the hub's options become with those that are declared,
// or nil if nothing changes. Options that manifests cannot declare stay.
func RepositoryOptions(have, want *hubv1.RepositoryOptions) *hubv1.RepositoryOptions {
	api := cmp.Or(want.GetApiUrl(), have.GetApiUrl())
	if want == nil || have.GetProxy() == want.GetProxy() && have.GetHubIdentity() == want.GetHubIdentity() && have.GetApiUrl() == api {
		return nil
	}
	merged := &hubv1.RepositoryOptions{}
	if have != nil {
		merged = proto.CloneOf(have)
	}
	merged.Proxy, merged.HubIdentity, merged.ApiUrl = want.GetProxy(), want.GetHubIdentity(), api
	return merged
}
