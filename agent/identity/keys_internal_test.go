package identity

import (
	"bytes"
	"crypto/ed25519"
	"strconv"
	"testing"
)

func TestKeysThatWereInForceAreRemembered(t *testing.T) {
	key := func(b byte) ed25519.PublicKey {
		return ed25519.PublicKey(bytes.Repeat([]byte{b}, ed25519.PublicKeySize))
	}
	id := &Identity{SigningKeys: map[string]ed25519.PublicKey{"k0": key(0)}}
	for i := byte(1); i < 30; i++ {
		id.Pin(map[string]ed25519.PublicKey{"k" + strconv.Itoa(int(i)): key(i)})
		if before := "k" + strconv.Itoa(int(i-1)); id.FormerKeys[before] == nil {
			t.Fatalf("%s is forgotten at once", before)
		}
	}
	if len(id.SigningKeys) != 1 || len(id.FormerKeys) != maxFormerKeys {
		t.Errorf("%d keys in force, %d former ones", len(id.SigningKeys), len(id.FormerKeys))
	}
	id.Pin(map[string]ed25519.PublicKey{"k28": key(28)})
	if id.FormerKeys["k28"] != nil || id.FormerKeys["k29"] == nil {
		t.Error("a key is in force and a former one")
	}
}
