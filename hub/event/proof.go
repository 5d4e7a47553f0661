package event

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// proofBytes is the length of a proof: 16 bytes cannot be guessed online.
const proofBytes = 16

// Proofs makes and verifies proofs that this hub issued a position of its feed,
// so that an agent's claim need not be trusted. The zero value and nil make
// none and accept none.
type Proofs struct {
	key []byte
}

// NewProofs returns the Proofs of a hub's secret, which all its replicas have
// and which survives a restore. The secret may have other uses.
func NewProofs(secret []byte) *Proofs {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("axle position proof"))
	return &Proofs{m.Sum(nil)}
}

// Of returns the proof of a position, as text for a header; empty for the zero
// position.
func (p *Proofs) Of(at Position) string {
	if p == nil || p.key == nil || at == (Position{}) {
		return ""
	}
	m := hmac.New(sha256.New, p.key)
	m.Write([]byte(at.String()))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:proofBytes])
}

// Proved parses "<position> <proof>" and reports whether this hub made the
// proof.
func (p *Proofs) Proved(shown string) (Position, bool) {
	place, proof, _ := strings.Cut(shown, " ")
	at, err := ParsePosition(place)
	if err != nil {
		return Position{}, false
	}
	want := p.Of(at)
	return at, want != "" && hmac.Equal([]byte(proof), []byte(want))
}
