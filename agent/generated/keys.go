package generated

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
)

// material is a generated value that is a certificate or a private key.
type material struct {
	location *location
	certs    []*x509.Certificate
	key      []byte // the public half, if it is a private key
	text     string
}

// renewIncomplete handles certificates and keys that belong together: a certificate
// and its key, and a certificate and its issuer. If one of them is not in the
// cluster, it cannot be created to match the others, because the issuer's key is not
// available. Then all are used as rendered.
func renewIncomplete(locations []*location) {
	var all []*material
	for _, p := range locations {
		if m := materialOf(p); m != nil {
			all = append(all, m)
		}
	}
	family := families(all)
	complete := make(map[int]bool, len(all))
	present := map[string]bool{}
	for i, m := range all {
		complete[family[i]] = true
		present[m.text] = present[m.text] || m.location.found && m.location.in.own
	}
	for i, m := range all {
		// The same certificate may be elsewhere in the cluster.
		if !m.location.found && !present[m.text] {
			complete[family[i]] = false
		}
	}
	for i, m := range all {
		if !complete[family[i]] {
			m.location.found = false
		}
	}
}

// families gives the same number to those that belong together, also indirectly.
func families(all []*material) []int {
	family := make([]int, len(all))
	for i := range all {
		family[i] = i
	}
	for i := range all {
		for j := range i {
			if family[i] == family[j] || !related(all[i], all[j]) {
				continue
			}
			from, to := family[i], family[j]
			for k := range family {
				if family[k] == from {
					family[k] = to
				}
			}
		}
	}
	return family
}

func related(a, b *material) bool {
	if a.text == b.text || a.key != nil && bytes.Equal(a.key, b.key) {
		return true
	}
	for _, x := range a.certs {
		if matches(x, b.key) {
			return true
		}
		for _, y := range b.certs {
			if x.Equal(y) || issued(x, y) || issued(y, x) {
				return true
			}
		}
	}
	for _, y := range b.certs {
		if matches(y, a.key) {
			return true
		}
	}
	return false
}

func issued(cert, by *x509.Certificate) bool {
	return bytes.Equal(cert.RawIssuer, by.RawSubject) && cert.CheckSignatureFrom(by) == nil
}

func matches(cert *x509.Certificate, key []byte) bool {
	return key != nil && bytes.Equal(cert.RawSubjectPublicKeyInfo, key)
}

// materialOf parses PEM, also in Base64; nil if the value is something else.
func materialOf(p *location) *material {
	text, ok := p.fresh.(string)
	if !ok {
		return nil
	}
	if inner, encoded := decode64(text); encoded {
		text = inner
	}
	m := &material{location: p, text: text}
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			m.certs = append(m.certs, cert)
		} else if key := publicHalf(block.Bytes); key != nil {
			m.key = key
		}
	}
	if len(m.certs) == 0 && m.key == nil {
		return nil
	}
	return m
}

// publicHalf is the public key of a private key, in the form that certificates use.
func publicHalf(der []byte) []byte {
	var private any
	var err error
	if private, err = x509.ParsePKCS8PrivateKey(der); err != nil {
		if private, err = x509.ParsePKCS1PrivateKey(der); err != nil {
			if private, err = x509.ParseECPrivateKey(der); err != nil {
				return nil
			}
		}
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil
	}
	encoded, err := x509.MarshalPKIXPublicKey(signer.Public())
	if err != nil {
		return nil
	}
	return encoded
}
