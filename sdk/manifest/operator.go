package manifest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// ofOperator are the kinds that only the operator reads: what they need, such as Secrets
// to write, is in the management cluster.
var ofOperator = []string{
	"BootstrapToken", "ClusterRegistration", "ClusterSync", "FederatedCredential", "GeneratedSecret", "Group", "NamespaceCredentials", "OIDCProvider", "ReferenceGrant", "RegistrationToken", "ServiceAccount",
}

// ForOperator reports whether only the operator reads a kind. In files it is an error.
func ForOperator(kind string) bool { return slices.Contains(ofOperator, kind) }

func (d document) forOperator() error {
	return &Other{d.meta.Kind, d.meta.Name, d.where, errcode.New(errcode.Invalid, "%s: %s %q is for the operator; apply it to the management cluster with kubectl", d.where, d.meta.Kind, d.meta.Name)}
}

// ofOperator converts the kinds that only the operator reads.
func (d document) ofOperator(values Values) (*Item, error) {
	switch d.meta.Kind {
	case "ClusterSync", "GeneratedSecret", "NamespaceCredentials":
		return nil, d.forOperator() // they are nothing of the hub
	case "FederatedCredential":
		return d.federatedCredential()
	case "BootstrapToken":
		return d.bootstrapToken()
	case "OIDCProvider":
		return d.oidcProvider(values)
	case "ServiceAccount":
		return d.serviceAccount()
	default:
		return d.group()
	}
}

// bootstrapToken is a token for one cluster of a project.
func (d document) bootstrapToken() (*Item, error) {
	var object v1alpha1.BootstrapToken
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	return &Item{Kind: d.meta.Kind, Name: object.Namespace + "/" + object.Name, Where: d.where,
		Request:   &hubv1.CreateBootstrapTokenRequest{Project: object.Spec.ProjectRef.Name},
		NotActing: set(map[string]bool{"spec.user": object.Spec.User != nil}),
	}, nil
}

// federatedCredential is a trust. Its audience is empty if the object names none.
func (d document) federatedCredential() (*Item, error) {
	var object v1alpha1.FederatedCredential
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	request := &hubv1.CreateTrustRequest{
		Name: object.Name, Issuer: object.Spec.Issuer, Account: AccountName(object.Spec.User), Scopes: object.Spec.Scopes, Claims: map[string]string{},
	}
	if object.Spec.ClaimsLike != nil {
		if err := json.Unmarshal(object.Spec.ClaimsLike.Raw, &request.Claims); err != nil {
			return nil, errcode.New(errcode.Invalid, "%s: FederatedCredential %q: spec.claimsLike is not a JSON object of texts", d.where, object.Name)
		}
	}
	request.Audience = request.GetClaims()["aud"]
	delete(request.GetClaims(), "aud")
	for claim, expression := range request.GetClaims() {
		request.Claims[claim] = "/" + expression + "/"
	}
	return &Item{Kind: d.meta.Kind, Name: object.Name, Where: d.where, Request: request}, nil
}

// AccountName is the name in the hub of the service account of an e-mail. Names of
// service accounts have no @, so that none is mistaken for a person.
func AccountName(address string) string {
	return strings.Replace(email.Lower(address), "@", ".at.", 1)
}

// The annotations that say of an OIDCProvider what its kind has no field for: the project of
// its application, and who may log in, separated by commas.
const (
	ApplicationProject = kinds.Axle + "/project"
	ApplicationUsers   = kinds.Axle + "/users"
	ApplicationGroups  = kinds.Axle + "/groups"
)

// The keys of its Secret.
const (
	ClientIDKey     = "clientId"
	ClientSecretKey = "clientSecret"
	IssuerKey       = "issuer"
)

// oidcProvider is an application. Without the annotations nobody may log in to it. A client
// id that the hub made is none to take over.
func (d document) oidcProvider(values Values) (*Item, error) {
	var object v1alpha1.OIDCProvider
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	held, err := values.Secret(object.Namespace, object.Spec.CredentialsSecretRef.Name)
	if err != nil {
		return nil, err
	}
	says := func(annotation string) (all []string) {
		for one := range strings.SplitSeq(object.Annotations[annotation], ",") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, one)
			}
		}
		return all
	}
	settings := &hubv1.ApplicationSettings{
		Project: cmp.Or(object.Annotations[ApplicationProject], "default"), RedirectUris: object.Spec.RedirectURIs,
		Users: says(ApplicationUsers), Groups: says(ApplicationGroups), ClientSecret: held[ClientSecretKey],
	}
	if id := held[ClientIDKey]; !rule.IsClient(id) {
		settings.ClientId = id
	}
	name := cmp.Or(value(object.Spec.Name), object.Name)
	return &Item{Kind: d.meta.Kind, Name: name, Where: d.where,
		Request:   &hubv1.ApplyApplicationRequest{Name: name, Settings: settings},
		NotActing: set(map[string]bool{"spec.description": object.Spec.Description != nil}),
	}, nil
}

func (d document) serviceAccount() (*Item, error) {
	var object v1alpha1.ServiceAccount
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	name := AccountName(object.Spec.Email)
	return &Item{Kind: d.meta.Kind, Name: name, Where: d.where,
		Request: &hubv1.CreateServiceAccountRequest{Name: name},
		NotActing: set(map[string]bool{
			"spec.scopes": len(object.Spec.Scopes) > 0, "spec.assumeBindings": object.Spec.AssumeBindings != nil, "spec.reconciliation": object.Spec.Reconciliation != nil,
		}),
	}, nil
}

func (d document) group() (*Item, error) {
	var object v1alpha1.Group
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	name := cmp.Or(value(object.Spec.Name), object.Name)
	return &Item{Kind: d.meta.Kind, Name: name, Where: d.where,
		Request:   &hubv1.CreateGroupRequest{Name: name, Description: value(object.Spec.Description)},
		NotActing: set(map[string]bool{"spec.global": value(object.Spec.Global)}),
	}, nil
}
