package bootstrap_test

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestATokenCarriesTheKey(t *testing.T) {
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	token := bootstrap.Join("axle_secret", key)
	if secret, got, err := bootstrap.Split(token); secret != "axle_secret" || !key.Equal(got) || err != nil || bootstrap.Secret(token) != secret {
		t.Errorf("%q is %q and %v, %v", token, secret, got, err)
	}
	if secret, got, err := bootstrap.Split("axle_old"); secret != "axle_old" || got != nil || err != nil {
		t.Errorf("a token without a key is %q and %v, %v", secret, got, err)
	}
	for n := len("axle_secret."); n < len(token); n++ {
		if _, key, err := bootstrap.Split(token[:n]); key != nil || !errcode.Is(err, errcode.Invalid) {
			t.Errorf("the first %d bytes of a token pass: %v", n, err)
		}
	}
	for _, c := range token {
		if !strings.ContainsRune("-._~+/=", c) && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			t.Errorf("%q stands in a token and not in a header", c)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("axle_a.b")
	f.Add("axle_a.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, token string) {
		secret, key, err := bootstrap.Split(token)
		if err == nil && key != nil && bootstrap.Join(secret, key) != token {
			t.Errorf("%q comes back as %q", token, bootstrap.Join(secret, key))
		}
		if strings.Contains(token, ".") && err == nil && len(key) != ed25519.PublicKeySize {
			t.Errorf("%q has a key of %d bytes", token, len(key))
		}
	})
}
