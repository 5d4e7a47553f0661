package controller

import (
	"context"
	"maps"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/operator/tenancy"
	"github.com/axle-cd/axle/sdk/manifest"
)

// oidcProviders are Applications by another name. The operator makes the client secret, in
// the Secret that the object names, before the hub has a client: a kill between the two
// leaves a Secret that the next reconcile reads. One that people made has the credentials of
// an existing client, which the hub takes over, and is never written.
func oidcProviders() kind {
	k := kind{
		name: "OIDCProvider", protection: "oidcprovider", object: &v1alpha1.OIDCProvider{}, list: &v1alpha1.OIDCProviderList{}, hub: described("Application", nil),
		prepare: makeClientSecret,
		keep:    keepClient,
		release: func(ctx context.Context, p *pass, _ string) (bool, error) {
			return true, (&wantedToken{at: credentialsOf(p.object)}).withdraw(ctx, p)
		},
	}
	return k.withSecret(credentialsField, func(o client.Object) string { return credentialsOf(o).Name })
}

// credentialsField names the Secret.
const credentialsField = "spec.credentialsSecretRef"

func credentialsOf(o client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.(*v1alpha1.OIDCProvider).Spec.CredentialsSecretRef.Name}
}

// clientCredentials reads the Secret of the object, nil if there is none, and reports whether
// the operator wrote it.
func clientCredentials(ctx context.Context, p *pass) (secret *corev1.Secret, ours bool, err error) {
	at := credentialsOf(p.object)
	if err := p.tenancy.MayName(ctx, credentialsField, self(p), tenancy.Object{Kind: reference.Secret, NamespacedName: at}); err != nil {
		return nil, false, err
	}
	secret = &corev1.Secret{}
	switch err := p.direct.Get(ctx, at, secret); {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, tenancy.ReadError(err, reference.Secret, at, credentialsField)
	}
	return secret, secret.Annotations[writtenBy] == p.manager().GetId(), nil
}

// makeClientSecret makes the Secret of an object that names none that exists. Nobody gets a
// Secret overwritten by naming it.
func makeClientSecret(ctx context.Context, p *pass) error {
	at := credentialsOf(p.object)
	if at.Name == "" {
		return errcode.New(errcode.Invalid, "spec.credentialsSecretRef: name is missing: name the Secret that the client's credentials are written to")
	}
	secret, ours, err := clientCredentials(ctx, p)
	if err != nil {
		return err
	}
	has := secret != nil && len(secret.Data[manifest.ClientSecretKey]) > 0
	if secret != nil && !ours && !has {
		return errcode.New(errcode.Conflict, "Secret %s of spec.credentialsSecretRef exists, was not written for this object and has no key %s: choose another name, or put the credentials of an existing client into it as %s and %s",
			at, manifest.ClientSecretKey, manifest.ClientIDKey, manifest.ClientSecretKey)
	}
	if !has || p.object.GetAnnotations()[tokenSecret] != "" {
		if err := (&wantedToken{at: at}).move(ctx, p); err != nil {
			return err
		}
	}
	if has {
		return nil
	}
	fresh := map[string][]byte{manifest.ClientSecretKey: []byte(randomText())}
	if secret != nil {
		return writeClient(ctx, p, secret, fresh)
	}
	err = p.cluster.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name, Annotations: map[string]string{writtenBy: p.manager().GetId()}, OwnerReferences: ownedBy(p)},
		Data:       fresh,
	})
	if apierrors.IsAlreadyExists(err) {
		return nil // the next reconcile reads it
	}
	return unmade(err, credentialsField, at)
}

func writeClient(ctx context.Context, p *pass, secret *corev1.Secret, data map[string][]byte) error {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, data)
	return unwritable(p.cluster.Update(ctx, secret), credentialsField, client.ObjectKeyFromObject(secret))
}

// keepClient writes the id of the client and the issuer beside the secret, if the Secret is
// the operator's, and says when nobody may log in.
func keepClient(ctx context.Context, p *pass) error {
	request := p.item.Request.(*hubv1.ApplyApplicationRequest)
	if s := request.GetSettings(); len(s.GetUsers())+len(s.GetGroups()) == 0 {
		p.have.waits = "nobody may log in yet: name people or groups in the annotations " + manifest.ApplicationUsers + " and " + manifest.ApplicationGroups
	}
	secret, ours, err := clientCredentials(ctx, p)
	if err != nil || !ours {
		return err
	}
	made, err := p.hub.ApplicationClients.Get(ctx, connect.NewRequest(&hubv1.GetApplicationClientRequest{Name: p.item.Name}))
	if err != nil {
		return absent(err)
	}
	id, issuer := made.Msg.GetClientId(), made.Msg.GetIssuer()
	if string(secret.Data[manifest.ClientIDKey]) == id && string(secret.Data[manifest.IssuerKey]) == issuer {
		return nil
	}
	return writeClient(ctx, p, secret, map[string][]byte{manifest.ClientIDKey: []byte(id), manifest.IssuerKey: []byte(issuer)})
}
