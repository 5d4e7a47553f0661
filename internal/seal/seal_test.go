package seal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/seal"
)

func TestFileIsMadeOnceForItsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "hub.key")
	a, err := seal.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	b, err := seal.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := b.Open(a.Seal([]byte("secret"), "here"), "here")
	if err != nil || string(plain) != "secret" {
		t.Fatalf("%q, %v", plain, err)
	}
}

// Two starts of a hub whose key file lies on a shared volume made a key each, and what one of
// them sealed was lost.
func TestAllWhoMakeTheFileHaveOneKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.key")
	var all sync.WaitGroup
	sealers := make([]*seal.Sealer, 20)
	for i := range sealers {
		all.Go(func() {
			var err error
			if sealers[i], err = seal.OpenFile(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	kept, err := seal.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range sealers {
		if plain, err := kept.Open(s.Seal([]byte("secret"), "here"), "here"); err != nil || string(plain) != "secret" {
			t.Errorf("start %d sealed with a key that is gone: %v", i, err)
		}
	}
}

func TestSealedTextIsBoundToItsPlaceAndKey(t *testing.T) {
	s, err := seal.Parse(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	other, err := seal.Parse(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	sealed := s.Seal([]byte("hunter2"), "repository a")
	if strings.Contains(sealed, "hunter2") || sealed == s.Seal([]byte("hunter2"), "repository a") {
		t.Fatalf("sealed text is %q", sealed)
	}
	flipped := []byte(sealed)
	flipped[len(flipped)-3] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another place": func() ([]byte, error) { return s.Open(sealed, "repository b") },
		"another key":   func() ([]byte, error) { return other.Open(sealed, "repository a") },
		"a changed bit": func() ([]byte, error) { return s.Open(string(flipped), "repository a") },
		"cut off":       func() ([]byte, error) { return s.Open(sealed[:15], "repository a") },
	} {
		t.Run(name, func(t *testing.T) {
			if plain, err := open(); !errcode.Is(err, errcode.Internal) {
				t.Fatalf("opened %q, %v", plain, err)
			}
		})
	}
	if plain, err := s.Open(s.Seal(nil, "x"), "x"); err != nil || len(plain) != 0 {
		t.Fatalf("empty came back as %q, %v", plain, err)
	}
}

func TestNewKeyOnTopOpensWhatTheOldOneSealed(t *testing.T) {
	oldKey, newKey := seal.NewKey(), seal.NewKey()
	before, err := seal.Parse(oldKey)
	if err != nil {
		t.Fatal(err)
	}
	after, err := seal.Parse(append(newKey, oldKey...))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := after.Open(before.Seal([]byte("v"), "p"), "p")
	if err != nil || string(plain) != "v" || after.KeyID() == before.KeyID() {
		t.Fatalf("%q, %v", plain, err)
	}
}

func TestBadKeyFilesAreRefusedWithoutQuotingThem(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "\n", "no id": strings.Repeat("ab", 32), "short": "k1 abcd", "not hex": "k1 " + strings.Repeat("zz", 32),
		"twice": "k1 " + strings.Repeat("ab", 32) + "\nk1 " + strings.Repeat("cd", 32),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := seal.Parse([]byte(text))
			if !errcode.Is(err, errcode.Invalid) || strings.Contains(err.Error(), "abcd") {
				t.Fatalf("error is %v", err)
			}
		})
	}
}

func TestDerivedKeysDifferByPurpose(t *testing.T) {
	s, err := seal.Parse(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	a, errA := s.Derive("peer")
	b, errB := s.Derive("spec")
	if errA != nil || errB != nil || len(a) != 32 || bytes.Equal(a, b) {
		t.Fatalf("%x %x %v %v", a, b, errA, errB)
	}
}
