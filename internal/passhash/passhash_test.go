package passhash_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/passhash"
)

func TestHashesAreComparedAndSalted(t *testing.T) {
	h := passhash.New(nil)
	one, err := h.Hash(t.Context(), "ann@example.com", "correct horse battery staple")
	if err != nil {
		t.Fatal(err)
	}
	two, err := h.Hash(t.Context(), "ann@example.com", "correct horse battery staple")
	if err != nil || one == two {
		t.Errorf("two hashes are %q, %q, %v", one, two, err)
	}
	for text, want := range map[string]bool{"correct horse battery staple": true, "correct horse battery stapl": false, "": false} {
		for _, hash := range []string{one, two} {
			if got, err := h.Compare(t.Context(), hash, text); got != want || err != nil {
				t.Errorf("%q: %v %v", text, got, err)
			}
		}
	}
	if got, err := h.Compare(t.Context(), passhash.Nobody, ""); got || err != nil {
		t.Errorf("nobody has a password: %v", err)
	}
}

func TestWeakPasswordsAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"short": "short", "long": strings.Repeat("ab", passhash.Max), "the name": "ann@example.com", "one letter": strings.Repeat("x", 20),
	} {
		if _, err := passhash.New(nil).Hash(t.Context(), "ann@example.com", text); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzCompare: comparing with any content of the database ends without a panic and
// uses no more memory than allowed.
func FuzzCompare(f *testing.F) {
	f.Add(passhash.Nobody)
	f.Add("$argon2id$v=19$m=4294967295,t=1,p=1$AAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA")
	f.Add("$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA")
	h := passhash.New(nil)
	f.Fuzz(func(t *testing.T, hash string) {
		if len(hash) > 1000 || !strings.Contains(hash, "t=1,") {
			return // it would only take long
		}
		if ok, err := h.Compare(t.Context(), hash, "a password that nobody has"); ok && err == nil {
			t.Errorf("it fits %q", hash)
		}
	})
}
