package fleet

import (
	"crypto/rand"
	"strings"
)

// newID returns a prefix with 130 random bits.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }
