package agentkey

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// announceFor is how long a new signing key is only announced. Agents renew
// their tokens every 12 h and learn the keys then, so each agent that ran
// within these two days knows it.
const announceFor = 48 * time.Hour

const (
	// rotateAfter is the age at which a key is replaced automatically.
	rotateAfter = 90 * 24 * time.Hour
	// handOverFor is how long a retired key may still sign the keys in force,
	// for an agent that was off meanwhile. It signs no lists any more.
	handOverFor = 365 * 24 * time.Hour
)

// SigningKey is the public half of a key that signs what the hub sends to clusters.
type SigningKey struct {
	ID string
	// PublicKey is Ed25519, 32 bytes.
	PublicKey []byte
	// SignsFrom is when it takes over from its predecessor.
	SignsFrom int64
}

// Signature is made by the key in force.
type Signature struct {
	KeyID string
	Bytes []byte
}

// keyRing holds the keys in force, opened.
type keyRing struct {
	mu      sync.Mutex
	keys    []openKey
	retired []openKey
}

type openKey struct {
	StoredSigningKey
	private ed25519.PrivateKey
}

func (r *keyRing) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys, r.retired = nil, nil
}

func sealPurpose(keyID string) string { return "signing-key/" + keyID }

// Sign signs a payload with the key in force, and creates the first key when
// there is none.
func (s *Signer) Sign(ctx context.Context, payload []byte) (Signature, error) {
	keys, err := s.openKeys(ctx)
	if err != nil {
		return Signature{}, err
	}
	k := inForce(keys, s.now())
	return Signature{KeyID: k.ID, Bytes: ed25519.Sign(k.private, payload)}, nil
}

// inForce returns the key that signs lists now.
func inForce(keys []openKey, now int64) openKey {
	k := keys[0]
	for _, later := range keys[1:] {
		if later.SignsFrom <= now {
			k = later
		}
	}
	return k
}

// SigningKeys returns all keys that agents may trust, oldest first.
func (s *Signer) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	keys, err := s.openKeys(ctx)
	if err != nil {
		return nil, err
	}
	return publicOf(keys), nil
}

func publicOf(keys []openKey) []SigningKey {
	public := make([]SigningKey, len(keys))
	for i, k := range keys {
		public[i] = k.public()
	}
	return public
}

func (k openKey) public() SigningKey {
	return SigningKey{ID: k.ID, PublicKey: k.PublicKey, SignsFrom: k.SignsFrom}
}

// vouch returns the keys in force, with signatures of that set by each of them and
// by each key that was retired within a year: an agent that was off during rotations
// finds one that it knows. The first signature is by the key that signs lists.
func (s *Signer) vouch(ctx context.Context) ([]SigningKey, []Signature, error) {
	// One answer comes from one reading: another replica's rotation may empty the
	// ring at any moment.
	open, retired, err := s.openRing(ctx)
	if err != nil {
		return nil, nil, err
	}
	keys := publicOf(open)
	payload, first := KeysPayload(keys), inForce(open, s.now())
	all := []Signature{{KeyID: first.ID, Bytes: ed25519.Sign(first.private, payload)}}
	for _, k := range slices.Concat(open, retired) {
		if k.ID != first.ID {
			all = append(all, Signature{KeyID: k.ID, Bytes: ed25519.Sign(k.private, payload)})
		}
	}
	return keys, all, nil
}

// openKeys returns the keys in force, at least one.
func (s *Signer) openKeys(ctx context.Context) ([]openKey, error) {
	keys, _, err := s.openRing(ctx)
	return keys, err
}

// openRing returns the keys in force, at least one, and those retired within a
// year.
func (s *Signer) openRing(ctx context.Context) (keys, retired []openKey, err error) {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	if len(s.keys.keys) > 0 {
		return s.keys.keys, s.keys.retired, nil
	}
	stored, err := s.store.SigningKeys(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read signing keys: %w", err)
	}
	if len(stored) == 0 {
		if stored, err = s.firstKey(ctx); err != nil {
			return nil, nil, err
		}
	}
	if keys, err = s.open(stored); err != nil {
		return nil, nil, err
	}
	gone, err := s.store.RetiredSigningKeys(ctx, s.now()-handOverFor.Microseconds())
	if err != nil {
		return nil, nil, fmt.Errorf("read retired signing keys: %w", err)
	}
	if retired, err = s.open(gone); err != nil {
		return nil, nil, err
	}
	s.keys.keys, s.keys.retired = keys, retired
	return keys, retired, nil
}

func (s *Signer) open(stored []StoredSigningKey) ([]openKey, error) {
	keys := make([]openKey, len(stored))
	for i, k := range stored {
		seed, err := s.sealer.Open(k.Sealed, sealPurpose(k.ID))
		if err != nil {
			return nil, fmt.Errorf("open signing key %s: %w", k.ID, err)
		}
		if len(seed) != ed25519.SeedSize {
			return nil, errcode.New(errcode.Internal, "signing key %s is damaged", k.ID)
		}
		keys[i] = openKey{k, ed25519.NewKeyFromSeed(seed)}
	}
	return keys, nil
}

// firstKey creates a key unless another replica was faster.
func (s *Signer) firstKey(ctx context.Context) (keys []StoredSigningKey, err error) {
	err = s.writer.Write(ctx, func(ctx context.Context) error {
		if keys, err = s.store.SigningKeys(ctx); err != nil || len(keys) > 0 {
			return err
		}
		k, err := s.insertKey(ctx, s.now())
		keys = []StoredSigningKey{k}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make the first signing key: %w", err)
	}
	return keys, nil
}

func (s *Signer) insertKey(ctx context.Context, signsFrom int64) (StoredSigningKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return StoredSigningKey{}, fmt.Errorf("make a signing key: %w", err)
	}
	k := StoredSigningKey{ID: identity.NewID("sig_"), PublicKey: public, CreatedAt: s.now(), SignsFrom: signsFrom}
	k.Sealed = s.sealer.Seal(private.Seed(), sealPurpose(k.ID))
	if err := s.store.InsertSigningKey(ctx, k); err != nil {
		return StoredSigningKey{}, err
	}
	if err := event.Append(ctx, event.Change{Kind: event.KindSigningKey, Key: k.ID}); err != nil {
		return StoredSigningKey{}, err
	}
	return k, event.Record(ctx, event.Entry{Kind: "signing_key.created", Object: "signing key " + k.ID, By: "hub"})
}

// RotateSigningKey announces a new key that takes over after 48 h, when every
// polling agent has learned it, and retires the keys before the current one.
// Conflict while a key is already announced.
func (s *Signer) RotateSigningKey(ctx context.Context) (SigningKey, error) {
	var made StoredSigningKey
	err := s.writer.Write(ctx, func(ctx context.Context) error {
		keys, err := s.store.SigningKeys(ctx)
		if err != nil {
			return err
		}
		now := s.now()
		for i, k := range keys {
			if k.SignsFrom > now {
				return errcode.New(errcode.Conflict, "signing key %s was announced less than two days ago; wait until it is in force", k.ID)
			}
			if i < len(keys)-1 {
				if err := s.store.RetireSigningKey(ctx, k.ID, now); err != nil {
					return err
				}
			}
		}
		made, err = s.insertKey(ctx, now+announceFor.Microseconds())
		return err
	})
	if err != nil {
		return SigningKey{}, err
	}
	s.keys.forget()
	s.log.Info("a new signing key was announced", logkey.Object, "signing key "+made.ID)
	return SigningKey{ID: made.ID, PublicKey: made.PublicKey, SignsFrom: made.SignsFrom}, nil
}

// rotateOld rotates when the newest key is old enough. It is no error when
// another replica was faster.
func (s *Signer) rotateOld(ctx context.Context) error {
	keys, err := s.store.SigningKeys(ctx)
	if err != nil || len(keys) == 0 || s.now()-keys[len(keys)-1].SignsFrom < rotateAfter.Microseconds() {
		return err
	}
	if _, err := s.RotateSigningKey(ctx); err != nil && !errcode.Is(err, errcode.Conflict) {
		return err
	}
	return nil
}

// KeysPayload returns the bytes that are signed when keys are sent to an agent:
// "axle-signing-keys\n", then per key its id, a space, its public half in hex
// and a newline, in the order given.
func KeysPayload(keys []SigningKey) []byte {
	payload := []byte("axle-signing-keys\n")
	for _, k := range keys {
		payload = append(payload, k.ID...)
		payload = append(payload, ' ')
		payload = hex.AppendEncode(payload, k.PublicKey)
		payload = append(payload, '\n')
	}
	return payload
}
