package identity

import (
	"context"
	"crypto/ed25519"
	"fmt"
)

// SignCheckpoint signs a checkpoint of the audit log with the key in force.
func (d *Directory) SignCheckpoint(ctx context.Context, payload []byte) (keyID string, signature []byte, err error) {
	s, err := d.Sign(ctx, payload)
	return s.KeyID, s.Bytes, err
}

// CheckpointKeys returns the public keys that may have signed a checkpoint, by
// id: those in force and those that were ever retired.
func (d *Directory) CheckpointKeys(ctx context.Context) (map[string]ed25519.PublicKey, error) {
	inForce, err := d.store.SigningKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("read signing keys: %w", err)
	}
	retired, err := d.store.RetiredSigningKeys(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("read retired signing keys: %w", err)
	}
	keys := map[string]ed25519.PublicKey{}
	for _, k := range append(inForce, retired...) {
		// The private half is sealed with the hub's own key, so it determines
		// the right public half: somebody who can write only to the database
		// cannot insert a key of their own.
		opened, err := d.open([]StoredSigningKey{k})
		if err != nil {
			return nil, err
		}
		keys[k.ID] = opened[0].private.Public().(ed25519.PublicKey)
	}
	return keys, nil
}
