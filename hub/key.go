package hub

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"github.com/axle-cd/axle/hub/store"
)

// digestKeySetting holds the sealed key of spec digests. It is created once and
// survives a change of the hub's own key: otherwise every digest, and so every
// service of the fleet, would look changed.
const digestKeySetting = "digest_key"

const digestKeyBytes = 32

// digestKey returns the key of spec digests, equal on every replica.
func digestKey(ctx context.Context, s *store.Store) (key []byte, err error) {
	err = s.Write(ctx, func(ctx context.Context) error {
		sealed, err := s.Setting(ctx, digestKeySetting)
		if err != nil {
			return err
		}
		if sealed == "" {
			fresh := make([]byte, digestKeyBytes)
			rand.Read(fresh)
			sealed = s.Sealer().Seal([]byte(base64.StdEncoding.EncodeToString(fresh)), digestKeySetting)
			if err := s.SetSetting(ctx, digestKeySetting, sealed); err != nil {
				return err
			}
		}
		text, err := s.Sealer().Open(sealed, digestKeySetting)
		if err != nil {
			return fmt.Errorf("open the key of spec digests: %w", err)
		}
		key, err = base64.StdEncoding.DecodeString(string(text))
		return err
	})
	return key, err
}
