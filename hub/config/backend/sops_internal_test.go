package backend

import (
	"os"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzSOPS decrypts any text as a file of a repository.
func FuzzSOPS(f *testing.F) {
	raw, err := os.ReadFile("testdata/age.key")
	if err != nil {
		f.Fatal(err)
	}
	ids, err := age.ParseIdentities(strings.NewReader(string(raw)))
	if err != nil {
		f.Fatal(err)
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile("testdata/" + file.Name()); err == nil {
			f.Add(text)
		}
	}
	for _, text := range []string{"", "a: b", "a: &a [x, x]\nb: [*a, *a]\nsops: {mac: x}", "a: &a [*a]\nsops: {mac: x}", strings.Repeat("[", 300), "sops:\n  mac: x\n  age:\n" + strings.Repeat("  - {}\n", 300), "a: [" + strings.Repeat("x,", 3000) + "]\nsops: {mac: x}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var err error
		if bytes := taken.By(func() { _, err = decryptSOPS(text, ids) }); bytes > 8<<20+1024*len(text) {
			t.Errorf("%d bytes take %d: %v", len(text), bytes, err)
		}
	})
}
