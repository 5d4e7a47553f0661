package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"math/big"
	"strings"
)

// bearerPrefix lets people and secret scanners know a token when they see one.
const bearerPrefix = "axle_"

// bearerDigits is how many base 62 digits hold 32 random bytes.
const bearerDigits = 43

// newBearer returns 48 bytes that carry 256 random bits.
func newBearer() string {
	var random [32]byte
	rand.Read(random[:]) // never fails
	text := new(big.Int).SetBytes(random[:]).Text(62)
	return bearerPrefix + strings.Repeat("0", bearerDigits-len(text)) + text
}

// hashBearer is what is stored. A bearer is random, so that a plain hash is
// as good as a slow one.
func hashBearer(bearer string) [sha256.Size]byte { return sha256.Sum256([]byte(bearer)) }

// newID returns a prefix with 130 random bits.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }
