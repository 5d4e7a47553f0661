package hub

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/terraform"
)

// digestKeySetting holds the sealed key of spec digests. It is created once and
// survives a change of the hub's own key: otherwise every digest, and so every
// service of the fleet, would look changed.
const digestKeySetting = "digest_key"

const digestKeyBytes = 32

// digestKey returns the key of spec digests, equal on every replica.
func digestKey(ctx context.Context, s *store.Store) (key []byte, err error) {
	return keptKey(ctx, s, digestKeySetting, func() ([]byte, error) {
		fresh := make([]byte, digestKeyBytes)
		rand.Read(fresh)
		return fresh, nil
	})
}

// keptKey returns the sealed key of a setting, which the first replica creates.
func keptKey(ctx context.Context, s *store.Store, setting string, create func() ([]byte, error)) (key []byte, err error) {
	err = s.Write(ctx, func(ctx context.Context) error {
		sealed, err := s.Setting(ctx, setting)
		if err != nil {
			return err
		}
		if sealed == "" {
			fresh, err := create()
			if err != nil {
				return err
			}
			sealed = s.Sealer().Seal([]byte(base64.StdEncoding.EncodeToString(fresh)), setting)
			if err := s.SetSetting(ctx, setting, sealed); err != nil {
				return err
			}
		}
		text, err := s.Sealer().Open(sealed, setting)
		if err != nil {
			return fmt.Errorf("open the key %s: %w", setting, err)
		}
		key, err = base64.StdEncoding.DecodeString(string(text))
		return err
	})
	return key, err
}

// terraformKeySetting holds the key that signs the Terraform provider for the registry
// protocol. It is created by the first request for it.
const terraformKeySetting = "terraform_key"

func terraformKey(s *store.Store) func(ctx context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		return keptKey(ctx, s, terraformKeySetting, terraform.NewKey)
	}
}
