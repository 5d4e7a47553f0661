package signature

import (
	"bytes"
	"crypto"
	"fmt"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// strong are the accepted hashes of signatures.
var strong = map[crypto.Hash]bool{crypto.SHA256: true, crypto.SHA384: true, crypto.SHA512: true, crypto.SHA3_256: true, crypto.SHA3_512: true}

func (k *Keys) verifyPGP(payload, sig []byte) error {
	block, err := armor.Decode(bytes.NewReader(sig))
	if err != nil || block.Type != openpgp.SignatureType {
		return fmt.Errorf("its OpenPGP signature cannot be read")
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(block.Body); err != nil {
		return fmt.Errorf("its OpenPGP signature cannot be read: %w", err)
	}
	by := issuer(body.Bytes())
	if len(k.pgp) == 0 {
		return fmt.Errorf("it is signed by the OpenPGP key %s but only SSH keys are trusted", by)
	}
	made, _, err := openpgp.VerifyDetachedSignature(k.pgp, bytes.NewReader(payload), &body, &packet.Config{Time: k.now})
	switch {
	case err != nil:
		return untrusted(by, err)
	case made.SigType != packet.SigTypeBinary && made.SigType != packet.SigTypeText:
		return fmt.Errorf("the OpenPGP key %s signed something other than a document", by)
	case !strong[made.Hash]:
		return fmt.Errorf("the OpenPGP key %s signed with a weak hash (%v)", by, made.Hash)
	case made.CreationTime.After(k.now().Add(24 * time.Hour)):
		return fmt.Errorf("its signature by the OpenPGP key %s is from the future", by)
	}
	return nil
}

// issuer returns the key that a signature names, for people.
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
