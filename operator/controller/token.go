package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/ownership"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/operator/tenancy"
	"github.com/axle-cd/axle/sdk"
)

// The annotations of a Secret that the operator writes.
const (
	// writtenBy is the custom resource that it is of, as the hub names managers.
	writtenBy = kinds.Axle + "/written-by"
	// tokenID, tokenTerms and tokenEnds are the id of the token in the hub, a hash of
	// what was asked for, and its end in seconds since 1970 UTC.
	tokenID    = kinds.Axle + "/token-id"
	tokenTerms = kinds.Axle + "/token-terms"
	tokenEnds  = kinds.Axle + "/token-ends"
	// tokenSecret, on the custom resource, is where its token was written to.
	tokenSecret = kinds.Axle + "/token-secret"
)

// tokenField is where a custom resource names the Secret of its token.
const tokenField = "spec.tokenSecretRef"

// readyToken is the condition of objects with a token.
const readyToken = "ReadyToken"

// wantedToken is a token that is written to a Secret.
type wantedToken struct {
	at       types.NamespacedName
	account  string
	scopes   []string
	lifetime time.Duration
	// beside are more keys of the Secret.
	beside map[string]string
}

func (w *wantedToken) terms() (string, error) {
	text, err := json.Marshal([]any{w.account, w.scopes, w.lifetime})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// tokenState is what is in the cluster.
type tokenState struct {
	// secret is nil if there is none.
	secret *corev1.Secret
	// good says that nothing has to be done before renew.
	good  bool
	renew time.Time
	// replaced is the id of a token that was given for other terms.
	replaced string
}

// look reads the Secret. A Secret that is not of this custom resource is Conflict:
// nobody may have a Secret overwritten by naming it.
func (w *wantedToken) look(ctx context.Context, p *pass) (state tokenState, err error) {
	secret := &corev1.Secret{}
	if err := p.direct.Get(ctx, w.at, secret); apierrors.IsNotFound(err) {
		return tokenState{}, nil
	} else if err != nil {
		return tokenState{}, tenancy.ReadError(err, reference.Secret, w.at, tokenField)
	}
	if by := secret.Annotations[writtenBy]; by != p.manager().GetId() {
		return tokenState{}, errcode.New(errcode.Conflict, "Secret %s of spec.tokenSecretRef exists and was not written for this object: choose another name, or delete it", w.at)
	}
	terms, err := w.terms()
	if err != nil {
		return tokenState{}, err
	}
	if secret.Annotations[tokenTerms] != terms {
		return tokenState{secret: secret, replaced: secret.Annotations[tokenID]}, nil
	}
	seconds, err := strconv.ParseInt(secret.Annotations[tokenEnds], 10, 64)
	if err != nil {
		return tokenState{secret: secret}, nil
	}
	// A third of the life is left for those who read the Secret rarely.
	state = tokenState{secret: secret, renew: time.Unix(seconds, 0).Add(-w.lifetime / 3)}
	state.good = len(secret.Data[tenancy.TokenKey]) > 0 && time.Now().Before(state.renew)
	return state, nil
}

// stands reports whether the Secret has a good token, and comes back before it ends.
func (w *wantedToken) stands(ctx context.Context, p *pass) bool {
	state, err := w.look(ctx, p)
	if err != nil || !state.good {
		return false // issue does what is missing, or says why it cannot
	}
	renewal(p, state.renew)
	return true
}

// sooner is the lesser of two waits; zero is for ever.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// issue makes a token and writes it, unless the Secret has a good one. A kill before the
// Secret is written leaves a token in the hub that nobody knows and that ends by itself.
func (w *wantedToken) issue(ctx context.Context, p *pass) error {
	state, err := w.look(ctx, p)
	if err != nil {
		return err
	}
	if !state.good {
		if err := w.move(ctx, p); err != nil {
			return err
		}
		made, err := p.hub.ServiceAccounts.CreateToken(ctx, connect.NewRequest(&hubv1.CreateServiceAccountTokenRequest{
			Account: w.account, Name: "secret " + w.at.String(), Scopes: w.scopes, LifetimeMicros: w.lifetime.Microseconds(),
		}))
		if err != nil {
			return err
		}
		if err := w.store(ctx, p, state.secret, made.Msg); err != nil {
			return err
		}
		if state.replaced != "" {
			_, err := p.hub.Tokens.Revoke(ctx, connect.NewRequest(&hubv1.RevokeTokenRequest{Id: state.replaced}))
			if err != nil && !sdk.IsNotFound(err) {
				return fmt.Errorf("revoke the token of other terms: %w", err)
			}
		}
		state.renew = time.Unix(made.Msg.GetToken().GetExpiresAt()/1e6, 0).Add(-w.lifetime / 3)
	}
	renewal(p, state.renew)
	return nil
}

// renewal comes back in time for the next token.
func renewal(p *pass, at time.Time) {
	p.after = sooner(p.after, max(time.Until(at), time.Second))
}

// move notes where the token is going to be, after it was removed from where it was.
func (w *wantedToken) move(ctx context.Context, p *pass) error {
	before := p.object.GetAnnotations()[tokenSecret]
	if before == w.at.String() {
		return nil
	}
	if namespace, name, ok := strings.Cut(before, "/"); ok {
		old := &wantedToken{at: types.NamespacedName{Namespace: namespace, Name: name}}
		if err := old.withdraw(ctx, p); err != nil {
			return err
		}
	}
	return p.patch(ctx, func() {
		annotations := p.object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[tokenSecret] = w.at.String()
		p.object.SetAnnotations(annotations)
	})
}

func (w *wantedToken) store(ctx context.Context, p *pass, have *corev1.Secret, made *hubv1.CreatedToken) error {
	terms, err := w.terms()
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.at.Namespace, Name: w.at.Name}}
	if have != nil {
		secret = have.DeepCopy()
	}
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	maps.Copy(secret.Annotations, map[string]string{
		writtenBy: p.manager().GetId(), tokenID: made.GetToken().GetId(), tokenTerms: terms, tokenEnds: strconv.FormatInt(made.GetToken().GetExpiresAt()/1e6, 10),
	})
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[tenancy.TokenKey] = []byte(made.GetSecret())
	for key, text := range w.beside {
		secret.Data[key] = []byte(text)
	}
	if have == nil {
		err = p.cluster.Create(ctx, secret)
	} else {
		err = p.cluster.Update(ctx, secret)
	}
	return unwritable(err, tokenField, w.at)
}

// withdraw deletes the Secret, if it is of this custom resource, and then its token.
func (w *wantedToken) withdraw(ctx context.Context, p *pass) error {
	state, err := w.look(ctx, p)
	if errcode.Is(err, errcode.Conflict) || err == nil && state.secret == nil {
		return nil
	}
	if err != nil {
		return err
	}
	exactly := client.Preconditions{UID: &state.secret.UID, ResourceVersion: &state.secret.ResourceVersion}
	if err := client.IgnoreNotFound(p.cluster.Delete(ctx, state.secret, exactly)); err != nil {
		return err
	}
	id := state.secret.Annotations[tokenID]
	if id == "" {
		return nil // it goes with what it is for
	}
	_, err = p.hub.Tokens.Revoke(ctx, connect.NewRequest(&hubv1.RevokeTokenRequest{Id: id}))
	return ignoreNotFound(err)
}

// lifetime reads a duration such as 12h, 7d or 4w; empty is 90 days.
func lifetime(text string) (time.Duration, error) {
	if text == "" {
		return 90 * 24 * time.Hour, nil
	}
	unit := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[text[len(text)-1]]
	if unit == 0 {
		length, err := time.ParseDuration(text)
		if err == nil && length > 0 {
			return length, nil
		}
	} else if n, err := strconv.Atoi(strings.TrimRight(text, "dw")); err == nil && n > 0 && n < 1000 {
		return time.Duration(n) * unit, nil
	}
	return 0, errcode.New(errcode.Invalid, "spec.tokenExpiry: %q is not a duration such as 12h, 7d or 4w", text)
}

// issueToken writes the token of the object to its Secret, if it wants one.
func issueToken(ctx context.Context, p *pass) error {
	if p.keep != nil {
		return p.keep(ctx, p)
	}
	if p.token == nil {
		return nil
	}
	want, err := p.token(p.object)
	if err != nil || want == nil {
		return err
	}
	return want.issue(ctx, p)
}

// showToken says whether the Secret of the object has its token.
func showToken(p *pass, err error) {
	if p.token == nil {
		return
	}
	switch want, wrong := p.token(p.object); {
	case want == nil && wrong == nil:
		meta.RemoveStatusCondition(&p.common(p.object).status.Conditions, readyToken)
	case err != nil:
		p.set(readyToken, false, reasonError, err.Error())
	case !p.untouched && p.action != ownership.Show:
		p.set(readyToken, true, reasonReady, "Secret "+want.at.String()+" has a token")
	}
}
