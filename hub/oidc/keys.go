package oidc

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	rs256, es256 = string(jose.RS256), string(jose.ES256)
	rsaBits      = 2048

	// announceFor is how long a new key is published before it signs: relying parties and
	// the other replicas read keys again within it.
	announceFor = 24 * time.Hour
	// rotateAfter is the age at which a key is replaced.
	rotateAfter = 90 * 24 * time.Hour
	// publishFor is how long a replaced key stays published: longer than any ID token lives,
	// and as long as a session of the hub, which an application ends with its ID token.
	publishFor = 7 * 24 * time.Hour
	// readKeysEvery is how old the keys in memory may be.
	readKeysEvery = time.Minute
)

// algorithms are those that clients may choose from; there is a key of each at any time.
var algorithms = []string{rs256, es256}

func purposeKey(id string) string { return "oidc key " + id }

// keyRing are the signing keys, with the private halves opened.
type keyRing struct {
	store  KeyStore
	writer identity.Writer
	sealer identity.Sealer
	clock  clock.Clock

	mu     sync.Mutex
	keys   []key
	readAt time.Time
}

// key is one signing key; it is op.SigningKey.
type key struct {
	StoredKey
	private crypto.Signer
}

var _ op.SigningKey = key{}

// SignatureAlgorithm implements op.SigningKey.
func (k key) SignatureAlgorithm() jose.SignatureAlgorithm {
	return jose.SignatureAlgorithm(k.StoredKey.Algorithm)
}

// Key implements op.SigningKey.
func (k key) Key() any { return k.private }

// ID implements op.SigningKey.
func (k key) ID() string { return k.StoredKey.ID }

// publicKey is the half of a key that is published.
type publicKey struct{ jose.JSONWebKey }

var _ op.Key = publicKey{}

// ID implements op.Key.
func (k publicKey) ID() string { return k.KeyID }

// Algorithm implements op.Key.
func (k publicKey) Algorithm() jose.SignatureAlgorithm {
	return jose.SignatureAlgorithm(k.JSONWebKey.Algorithm)
}

// Use implements op.Key.
func (k publicKey) Use() string { return k.JSONWebKey.Use }

// Key implements op.Key.
func (k publicKey) Key() any { return k.JSONWebKey.Key }

// all returns the keys, at least one of each algorithm.
func (r *keyRing) all(ctx context.Context) ([]key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if len(r.keys) > 0 && now.Sub(r.readAt) < readKeysEvery {
		return r.keys, nil
	}
	stored, err := r.store.SigninKeys(ctx)
	if err == nil && len(stored) == 0 {
		stored, err = r.firstKeys(ctx)
	}
	if err != nil {
		if len(r.keys) > 0 {
			return r.keys, nil // a day passes until a key that is not known here signs
		}
		return nil, fmt.Errorf("read the keys that sign ID tokens: %w", err)
	}
	keys := make([]key, len(stored))
	for i, k := range stored {
		der, err := r.sealer.Open(k.Sealed, purposeKey(k.ID))
		if err != nil {
			return nil, fmt.Errorf("open key %s: %w", k.ID, err)
		}
		private, err := x509.ParsePKCS8PrivateKey(der)
		if err != nil {
			return nil, errcode.New(errcode.Internal, "key %s is damaged", k.ID)
		}
		signer, ok := private.(crypto.Signer)
		if !ok {
			return nil, errcode.New(errcode.Internal, "key %s cannot sign", k.ID)
		}
		keys[i] = key{k, signer}
	}
	r.keys, r.readAt = keys, now
	return keys, nil
}

// signing returns the key that signs now.
func (r *keyRing) signing(ctx context.Context, algorithm string) (k key, err error) {
	keys, err := r.all(ctx)
	now := clock.Micros(r.clock.Now())
	for _, later := range keys {
		if later.StoredKey.Algorithm == algorithm && later.SignsFrom <= now {
			k = later
		}
	}
	if err == nil && k.private == nil {
		err = errcode.New(errcode.Internal, "there is no key for %s", algorithm)
	}
	return k, err
}

// published returns the public halves.
func (r *keyRing) published(ctx context.Context) ([]op.Key, error) {
	keys, err := r.all(ctx)
	if err != nil {
		return nil, err
	}
	now := clock.Micros(r.clock.Now())
	var public []op.Key
	for _, k := range keys {
		if k.EndsAt != 0 && k.EndsAt < now {
			continue
		}
		var jwk jose.JSONWebKey
		if err := json.Unmarshal([]byte(k.Public), &jwk); err != nil || !jwk.IsPublic() {
			return nil, errcode.New(errcode.Internal, "key %s is damaged", k.ID())
		}
		public = append(public, publicKey{jwk})
	}
	return public, nil
}

// firstKeys creates a key of each algorithm unless another replica was faster.
func (r *keyRing) firstKeys(ctx context.Context) (keys []StoredKey, err error) {
	err = r.writer.Write(ctx, func(ctx context.Context) error {
		if keys, err = r.store.SigninKeys(ctx); err != nil || len(keys) > 0 {
			return err
		}
		for _, algorithm := range algorithms {
			k, err := r.insert(ctx, algorithm, clock.Micros(r.clock.Now()))
			if err != nil {
				return err
			}
			keys = append(keys, k)
		}
		return nil
	})
	return keys, err
}

// rotate announces a successor of each key that is old, and ends those that were replaced.
func (r *keyRing) rotate(ctx context.Context) error {
	now := clock.Micros(r.clock.Now())
	return r.writer.Write(ctx, func(ctx context.Context) error {
		keys, err := r.store.SigninKeys(ctx)
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, algorithm := range algorithms {
			var newest StoredKey
			for _, k := range keys {
				if k.Algorithm != algorithm {
					continue
				}
				// The one before was replaced when its successor began to sign.
				if newest.ID != "" && newest.EndsAt == 0 && k.SignsFrom <= now {
					if err := r.store.EndSigninKey(ctx, newest.ID, k.SignsFrom+publishFor.Microseconds()); err != nil {
						return err
					}
				}
				newest = k
			}
			if now-newest.SignsFrom < rotateAfter.Microseconds() {
				continue
			}
			if _, err := r.insert(ctx, algorithm, now+announceFor.Microseconds()); err != nil {
				return err
			}
		}
		return r.store.DeleteSigninKeys(ctx, now)
	})
}

func (r *keyRing) insert(ctx context.Context, algorithm string, signsFrom int64) (StoredKey, error) {
	var private crypto.Signer
	var err error
	if algorithm == es256 {
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		private, err = rsa.GenerateKey(rand.Reader, rsaBits)
	}
	if err != nil {
		return StoredKey{}, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return StoredKey{}, fmt.Errorf("encode a key: %w", err)
	}
	k := StoredKey{ID: identity.NewID("sik_"), Algorithm: algorithm, CreatedAt: clock.Micros(r.clock.Now()), SignsFrom: signsFrom}
	public, err := json.Marshal(jose.JSONWebKey{Key: private.Public(), KeyID: k.ID, Algorithm: algorithm, Use: "sig"})
	if err != nil {
		return StoredKey{}, fmt.Errorf("encode a key: %w", err)
	}
	k.Public, k.Sealed = string(public), r.sealer.Seal(der, purposeKey(k.ID))
	if err := r.store.InsertSigninKey(ctx, k); err != nil {
		return StoredKey{}, err
	}
	return k, event.Record(ctx, event.Entry{Kind: "signing_key.created", Object: "sign-in key " + k.ID, By: "hub"})
}
