package signature

import (
	"fmt"

	"github.com/ProtonMail/go-crypto/openpgp/errors"
)

// untrusted returns why an OpenPGP signature by a key is not accepted.
func untrusted(by string, err error) error {
	switch err {
	case errors.ErrUnknownIssuer:
		return fmt.Errorf("it is signed by the OpenPGP key %s, which is not trusted", by)
	case errors.ErrKeyExpired:
		return fmt.Errorf("it is signed by the OpenPGP key %s, which is trusted and has expired", by)
	case errors.ErrKeyRevoked:
		return fmt.Errorf("it is signed by the OpenPGP key %s, which was revoked", by)
	}
	return fmt.Errorf("its signature by the OpenPGP key %s is wrong: %w", by, err)
}
