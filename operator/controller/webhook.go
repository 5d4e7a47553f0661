package controller

import (
	"context"
	"crypto/rand"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/secreterror"
)

// webhooks let upstreams announce pushes. The operator makes the Secret of one that names
// none that exists.
func webhooks() kind {
	k := own("Webhook", &axlev1alpha1.Webhook{}, &axlev1alpha1.WebhookList{},
		func(o *axlev1alpha1.Webhook, m proto.Message) { o.Status.URL = m.(*hubv1.Webhook).GetUrl() }).
		withSecret("spec.secretRef", func(o client.Object) string { return o.(*axlev1alpha1.Webhook).Spec.SecretRef.Name })
	k.prepare = func(ctx context.Context, p *pass) error {
		ref := p.object.(*axlev1alpha1.Webhook).Spec.SecretRef
		return random(ctx, p, "spec.secretRef", types.NamespacedName{Namespace: p.key.Namespace, Name: ref.Name}, ref.Key)
	}
	return k
}

// random makes a Secret with a random value, unless it exists. It goes with the object.
func random(ctx context.Context, p *pass, field string, at types.NamespacedName, key string) error {
	err := p.direct.Get(ctx, at, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		return nil // what reads it says what is wrong
	}
	err = p.cluster.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name, Annotations: map[string]string{writtenBy: p.manager().GetId()}, OwnerReferences: ownedBy(p)},
		Data:       map[string][]byte{key: []byte(randomText())},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return unmade(err, field, at)
}

// ownedBy makes a Secret go with the object.
func ownedBy(p *pass) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: p.gvk().GroupVersion().String(), Kind: p.name, Name: p.key.Name, UID: p.object.GetUID()}}
}

// randomText has 260 random bits.
func randomText() string { return rand.Text() + rand.Text() }

// unmade says what to do about a Secret that the operator may not make.
func unmade(err error, field string, at types.NamespacedName) error {
	err = secreterror.Of(err)
	if apierrors.IsForbidden(err) {
		return errcode.New(errcode.Forbidden, "Secret %s of %s does not exist, and the operator may not make it: make it, or bind the ClusterRole axle-operator-secrets to its ServiceAccount in namespace %s (%w)",
			at, field, at.Namespace, err)
	}
	return err
}
