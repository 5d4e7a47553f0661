package event

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// proofBytes are how much of the code a proof has: nobody guesses 16 bytes
// online.
const proofBytes = 16

// Proofs makes and knows proofs that this hub named a place of its feed to
// somebody. An agent that shows one tells nothing on its own word. The zero
// value and nil make none and believe none.
type Proofs struct {
	key []byte
}

// NewProofs returns those of a hub's secret, which all its replicas have and
// which outlives a restore. The secret may have other uses.
func NewProofs(secret []byte) *Proofs {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("axle position proof"))
	return &Proofs{m.Sum(nil)}
}

// Of returns the proof for a place, as text for a header; empty for the zero
// place.
func (p *Proofs) Of(at Position) string {
	if p == nil || p.key == nil || at == (Position{}) {
		return ""
	}
	m := hmac.New(sha256.New, p.key)
	m.Write([]byte(at.String()))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:proofBytes])
}

// Proved reads "<position> <proof>" and reports whether this hub made it.
func (p *Proofs) Proved(shown string) (Position, bool) {
	place, proof, _ := strings.Cut(shown, " ")
	at, err := ParsePosition(place)
	if err != nil {
		return Position{}, false
	}
	want := p.Of(at)
	return at, want != "" && hmac.Equal([]byte(proof), []byte(want))
}
