// Package bearertoken is the format of the hub's bearer tokens: how one is made,
// which hash of it is stored, and how a request carries it. It holds no tokens, and
// does not decide who may call.
package bearertoken

import (
	"crypto/rand"
	"crypto/sha256"
	"math/big"
	"strings"
)

// Prefix lets people and secret scanners recognise a token.
const Prefix = "axle_"

// digits is how many base 62 digits 32 random bytes need.
const digits = 43

// New returns 48 bytes that hold 256 random bits.
func New() string {
	var random [32]byte
	rand.Read(random[:]) // never fails
	text := new(big.Int).SetBytes(random[:]).Text(62)
	return Prefix + strings.Repeat("0", digits-len(text)) + text
}

// Hash is the stored form. A bearer token is random, so that a fast hash is as good
// as a slow one.
func Hash(bearer string) [sha256.Size]byte { return sha256.Sum256([]byte(bearer)) }
