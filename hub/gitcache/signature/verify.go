package signature

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Verify checks the signature of a commit or tag, as git stores it, in a
// repository of the given object format. The error says what is wrong and, as
// far as it is known, with which key.
func (k *Keys) Verify(kind string, raw []byte, format string) error {
	var payload, sig []byte
	switch {
	case kind == "commit" && header[format] != "":
		payload, sig = splitCommit(raw, format)
	case kind == "tag":
		payload, sig = splitTag(raw)
	default:
		return fmt.Errorf("a %s of format %s cannot be verified", kind, format)
	}
	switch {
	case len(sig) == 0:
		return errors.New("it is not signed")
	case bytes.HasPrefix(sig, []byte("-----BEGIN SSH SIGNATURE-----")):
		return k.verifySSH(payload, sig)
	case bytes.HasPrefix(sig, []byte("-----BEGIN PGP ")):
		return k.verifyPGP(payload, sig)
	case bytes.HasPrefix(sig, []byte("-----BEGIN SIGNED MESSAGE-----")):
		return errors.New("it is signed by X.509, which is not supported; sign with OpenPGP or SSH")
	}
	return errors.New("its signature is of no known kind")
}

// strong are the hashes that a signature may be made over.
var strong = map[crypto.Hash]bool{crypto.SHA256: true, crypto.SHA384: true, crypto.SHA512: true, crypto.SHA3_256: true, crypto.SHA3_512: true}

func (k *Keys) verifyPGP(payload, sig []byte) error {
	block, err := armor.Decode(bytes.NewReader(sig))
	if err != nil || block.Type != openpgp.SignatureType {
		return errors.New("its OpenPGP signature cannot be read")
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(block.Body); err != nil {
		return fmt.Errorf("its OpenPGP signature cannot be read: %w", err)
	}
	by := issuer(body.Bytes())
	if len(k.pgp) == 0 {
		return fmt.Errorf("it is signed by the OpenPGP key %s and only SSH keys are trusted", by)
	}
	made, _, err := openpgp.VerifyDetachedSignature(k.pgp, bytes.NewReader(payload), &body, &packet.Config{Time: k.now})
	switch {
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return fmt.Errorf("it is signed by the OpenPGP key %s, which is not trusted", by)
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return fmt.Errorf("it is signed by the OpenPGP key %s, which is trusted and has expired", by)
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return fmt.Errorf("it is signed by the OpenPGP key %s, which was revoked", by)
	case err != nil:
		return fmt.Errorf("its signature by the OpenPGP key %s is wrong: %w", by, err)
	case made.SigType != packet.SigTypeBinary && made.SigType != packet.SigTypeText:
		return fmt.Errorf("the OpenPGP key %s signed something else than a document", by)
	case !strong[made.Hash]:
		return fmt.Errorf("the OpenPGP key %s signed by a weak hash (%v)", by, made.Hash)
	case made.CreationTime.After(k.now().Add(24 * time.Hour)):
		return fmt.Errorf("its signature by the OpenPGP key %s is from the future", by)
	}
	return nil
}

// issuer finds the key that a signature names, for people.
func issuer(raw []byte) string {
	for packets := packet.NewReader(bytes.NewReader(raw)); ; {
		p, err := packets.Next()
		if err != nil {
			return "(unnamed)"
		}
		sig, ok := p.(*packet.Signature)
		switch {
		case ok && len(sig.IssuerFingerprint) > 0:
			return fmt.Sprintf("%X", sig.IssuerFingerprint)
		case ok && sig.IssuerKeyId != nil:
			return fmt.Sprintf("%016X", *sig.IssuerKeyId)
		}
	}
}
