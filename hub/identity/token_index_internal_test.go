package identity

import (
	"crypto/sha256"
	"testing"
)

// A read of the feed that began before a deletion, and one of all tokens, may end after it.
func TestADeletedTokenIsBroughtBackByNoRead(t *testing.T) {
	hash := sha256.Sum256([]byte("bearer"))
	read := Token{ID: "t", Hash: hash[:], ExpiresAt: 1 << 60}
	for name, late := range map[string]func(x *tokenIndex){
		"one token":  func(x *tokenIndex) { x.put(read) },
		"all tokens": func(x *tokenIndex) { x.replace([]Token{read}, 1) },
		"a sweep between": func(x *tokenIndex) {
			x.sweep(1)
			x.put(read)
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTokenIndex()
			x.put(read)
			if _, found, _, _ := x.get(hash); !found {
				t.Fatal("it is not there before its deletion")
			}
			x.forget("t")
			late(x)
			if _, found, _, _ := x.get(hash); found {
				t.Error("a deleted token is valid again by a read that began before")
			}
			for range 2 {
				x.sweep(1)
			}
			if len(x.forgotten)+len(x.before) > 0 {
				t.Error("deleted tokens are remembered for ever")
			}
		})
	}
}
