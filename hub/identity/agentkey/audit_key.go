package agentkey

import (
	"context"
	"crypto/ed25519"
	"fmt"
)

// SignCheckpoint signs a checkpoint of the audit log with the key in force.
func (s *Signer) SignCheckpoint(ctx context.Context, payload []byte) (keyID string, signature []byte, err error) {
	made, err := s.Sign(ctx, payload)
	return made.KeyID, made.Bytes, err
}

// CheckpointKeys returns the public keys that may have signed a checkpoint, by
// id: those in force and those that were ever retired.
func (s *Signer) CheckpointKeys(ctx context.Context) (map[string]ed25519.PublicKey, error) {
	inForce, err := s.store.SigningKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("read signing keys: %w", err)
	}
	retired, err := s.store.RetiredSigningKeys(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("read retired signing keys: %w", err)
	}
	keys := map[string]ed25519.PublicKey{}
	for _, k := range append(inForce, retired...) {
		// The private half is sealed with the hub's own key, so it determines
		// the right public half: somebody who can write only to the database
		// cannot insert a key of their own.
		opened, err := s.open([]StoredSigningKey{k})
		if err != nil {
			return nil, err
		}
		keys[k.ID] = opened[0].private.Public().(ed25519.PublicKey)
	}
	return keys, nil
}
