package tenancy

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// TokenKey is the key of the token in a Secret.
const TokenKey = "token"

// Credential is what an object acts with. The zero value is the operator's own token.
type Credential struct {
	of *v1alpha1.NamespaceCredentials
}

// CredentialOf is the token of NamespaceCredentials, whether or not they may act.
func CredentialOf(of *v1alpha1.NamespaceCredentials) Credential { return Credential{of} }

// Name is that of the NamespaceCredentials, empty for the operator's own token.
func (c Credential) Name() string {
	if c.of == nil {
		return ""
	}
	return c.of.Name
}

// Of returns the credential of the objects of a namespace; an empty one is that of
// cluster-scoped objects. Forbidden if it has none, Conflict if it has several.
func (t *Tenancy) Of(ctx context.Context, namespace string) (Credential, error) {
	if t.Admin(namespace) {
		return Credential{}, nil
	}
	all, err := t.Naming(ctx, namespace)
	switch {
	case err != nil:
		return Credential{}, err
	case len(all) == 0:
		return Credential{}, errcode.New(errcode.Forbidden, "namespace %s is not one of the operator's admin namespaces, and no NamespaceCredentials name it: "+
			"create one, move the object to %s, or add the namespace to --admin-namespaces", namespace, t.adminNames())
	case len(all) > 1:
		return Credential{}, contested(namespace, all)
	}
	return Credential{&all[0]}, nil
}

// MayAct returns nil for a namespace whose objects the operator acts on: an admin
// namespace, or one with credentials.
func (t *Tenancy) MayAct(ctx context.Context, namespace string) error {
	_, err := t.Of(ctx, namespace)
	return err
}

// Naming returns the NamespaceCredentials that name a namespace, by name.
func (t *Tenancy) Naming(ctx context.Context, namespace string) ([]v1alpha1.NamespaceCredentials, error) {
	var list v1alpha1.NamespaceCredentialsList
	err := t.cluster.List(ctx, &list, client.MatchingFields{byNamespace: namespace})
	slices.SortFunc(list.Items, func(a, b v1alpha1.NamespaceCredentials) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, err
}

// Holding returns the NamespaceCredentials whose token a Secret holds.
func (t *Tenancy) Holding(ctx context.Context, secret types.NamespacedName) ([]v1alpha1.NamespaceCredentials, error) {
	var list v1alpha1.NamespaceCredentialsList
	err := t.cluster.List(ctx, &list, client.MatchingFields{bySecret: secret.String()})
	return list.Items, err
}

func contested(namespace string, by []v1alpha1.NamespaceCredentials) error {
	var names []string
	for _, c := range by {
		names = append(names, c.Name)
	}
	return errcode.New(errcode.Conflict, "the NamespaceCredentials %s name namespace %s: none of them acts there until only one does", strings.Join(names, " and "), namespace)
}

// Check returns why NamespaceCredentials do not act as they say: Invalid, Forbidden
// for a Secret that may not be used, Conflict for a namespace that others name too.
func (t *Tenancy) Check(ctx context.Context, of *v1alpha1.NamespaceCredentials) error {
	if len(of.Spec.Namespaces) == 0 {
		return errcode.New(errcode.Invalid, "spec.namespaces is empty: name the namespaces whose objects act with the token")
	}
	if _, err := t.secretOf(of); err != nil {
		return err
	}
	for _, namespace := range named(of) {
		if t.Admin(namespace) {
			return errcode.New(errcode.Invalid, "spec.namespaces: %q is an admin namespace, whose objects act with the operator's own token: remove it here, or from --admin-namespaces", namespace)
		}
		all, err := t.Naming(ctx, namespace)
		if err != nil {
			return err
		}
		if len(all) > 1 {
			return contested(namespace, all)
		}
	}
	return nil
}

// named are the namespaces, each once.
func named(of *v1alpha1.NamespaceCredentials) []string {
	names := slices.Clone(of.Spec.Namespaces)
	slices.Sort(names)
	return slices.Compact(names)
}

// secretOf returns where the token is. It is in an admin namespace, or in the one
// namespace that acts with it: who may write it elsewhere would choose the account of
// other people's objects, and who may read it there would have their token.
func (t *Tenancy) secretOf(of *v1alpha1.NamespaceCredentials) (types.NamespacedName, error) {
	at := types.NamespacedName{Namespace: of.Spec.SecretRef.Namespace, Name: of.Spec.SecretRef.Name}
	names := named(of)
	switch {
	case at.Name == "" || at.Namespace == "":
		return at, errcode.New(errcode.Invalid, "spec.secretRef of NamespaceCredentials %s needs a name and a namespace", of.Name)
	case t.admins[at.Namespace], len(names) == 1 && names[0] == at.Namespace:
		return at, nil
	}
	return at, errcode.New(errcode.Forbidden, "spec.secretRef of NamespaceCredentials %s names Secret %s: it must lie in an admin namespace (%s), or in the namespace that "+
		"the credentials are for if that is only one", of.Name, at, t.adminNames())
}

// Client returns the client of a credential, with the token that the Secret or the
// file holds now. NotFound for a Secret that does not exist.
func (t *Tenancy) Client(ctx context.Context, c Credential) (*sdk.Client, error) {
	if c.of == nil {
		return t.clients.own(ctx)
	}
	token, _, err := t.Token(ctx, c.of)
	if err != nil {
		return nil, err
	}
	return t.clients.with(c.of.Name, token)
}

// Token returns the token of NamespaceCredentials, and what identifies it: a hash of
// the Secret's version. Nothing about the token can be tried against it.
func (t *Tenancy) Token(ctx context.Context, of *v1alpha1.NamespaceCredentials) (token, version string, err error) {
	at, err := t.secretOf(of)
	if err != nil {
		return "", "", err
	}
	var secret corev1.Secret
	if err := t.direct.Get(ctx, at, &secret); err != nil {
		return "", "", ReadError(err, "Secret", at, "spec.secretRef of NamespaceCredentials "+of.Name)
	}
	token = string(bytes.TrimSpace(secret.Data[TokenKey]))
	if token == "" {
		return "", "", errcode.New(errcode.Invalid, "Secret %s of NamespaceCredentials %s has no key %s", at, of.Name, TokenKey)
	}
	sum := sha256.Sum256([]byte(string(secret.UID) + "/" + secret.ResourceVersion))
	return token, hex.EncodeToString(sum[:]), nil
}

// Forget closes the client of NamespaceCredentials that are gone.
func (t *Tenancy) Forget(name string) { t.clients.forget(name) }

// ReadError says what an error of reading an object means: NotFound, or Forbidden with
// the right that the operator lacks.
func ReadError(err error, kind string, at types.NamespacedName, field string) error {
	switch {
	case apierrors.IsNotFound(err):
		return errcode.New(errcode.NotFound, "%s %s of %s does not exist", kind, Written(at), field)
	case apierrors.IsForbidden(err):
		return errcode.New(errcode.Forbidden, "the operator may not read %s %s of %s: bind the ClusterRole axle-operator-tenant to its ServiceAccount in namespace %s (%w)",
			kind, at, field, at.Namespace, err)
	}
	return err
}

// Written is a name as people write it: without the namespace of a cluster-scoped one.
func Written(at types.NamespacedName) string {
	if at.Namespace == "" {
		return at.Name
	}
	return at.String()
}
