package signature

import (
	"bytes"
	"errors"
	"fmt"
)

// Verify checks the signature of a commit or tag, as git stores it, in a
// repository of the given object format. The error says what is wrong and,
// where it is known, with which key.
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
