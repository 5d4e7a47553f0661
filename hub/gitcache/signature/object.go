package signature

import (
	"bytes"
)

// header is the header of a signature in an object, by the object format.
var header = map[string]string{"sha1": "gpgsig", "sha256": "gpgsig-sha256"}

// begins are the first lines of the signatures that git knows.
var begins = [][]byte{[]byte("-----BEGIN PGP SIGNATURE-----"), []byte("-----BEGIN PGP MESSAGE-----"), []byte("-----BEGIN SSH SIGNATURE-----"), []byte("-----BEGIN SIGNED MESSAGE-----")}

// splitCommit takes the signature out of a commit and returns the signed bytes:
// everything but the signature headers of either format.
func splitCommit(raw []byte, format string) (payload, sig []byte) {
	return split(raw, header[format])
}

func split(raw []byte, name string) (payload, sig []byte) {
	payload = make([]byte, 0, len(raw))
	mine, other := false, false
	for len(raw) > 0 {
		line := raw
		if i := bytes.IndexByte(raw, '\n'); i >= 0 {
			line = raw[:i+1]
		}
		raw = raw[len(line):]
		if len(line) == 1 || line[len(line)-1] != '\n' {
			return append(append(payload, line...), raw...), sig
		}
		key, value, _ := bytes.Cut(line, []byte(" "))
		switch {
		case line[0] == ' ' && mine:
			sig = append(sig, line[1:]...)
		case line[0] == ' ' && other:
		case line[0] == ' ':
			payload = append(payload, line...)
		default:
			mine, other = string(key) == name, bytes.HasPrefix(key, []byte("gpgsig"))
			if mine {
				sig = append(sig, value...)
			} else if !other {
				payload = append(payload, line...)
			}
		}
	}
	return payload, sig
}

// splitTag splits a tag at the last line that begins a signature. Headers of
// signatures of another format are not signed.
func splitTag(raw []byte) (payload, sig []byte) {
	at := len(raw)
	for i := 0; i < len(raw); {
		for _, b := range begins {
			if bytes.HasPrefix(raw[i:], b) {
				at = i
			}
		}
		n := bytes.IndexByte(raw[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
	}
	payload, _ = split(raw[:at], "")
	return payload, raw[at:]
}
