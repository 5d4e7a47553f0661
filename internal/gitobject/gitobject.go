// Package gitobject checks and computes the ids of Git objects. Git compares id and bytes when
// it stores an object, but not when it reads one, so a damaged pack index would go
// unnoticed. The package reads no repository; readers of repositories call it.
package gitobject

import (
	"crypto/sha1" //nolint:gosec // ids of objects are made with it
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// New returns the hash for an object of a kind and a size in bytes; write the
// object's bytes to it. format is "sha256"; anything else means SHA-1.
func New(format, kind string, size int64) hash.Hash {
	h := sha1.New()
	if format == "sha256" {
		h = sha256.New()
	}
	fmt.Fprintf(h, "%s %d\x00", kind, size)
	return h
}

// Compare returns an error if the bytes written to h do not have the id.
func Compare(id string, h hash.Hash) error {
	if got := hex.EncodeToString(h.Sum(nil)); got != id {
		return fmt.Errorf("object %s holds the bytes of %s: hash mismatch", id, got)
	}
	return nil
}

// IsID reports whether s is a full object id in lower-case hex.
func IsID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
