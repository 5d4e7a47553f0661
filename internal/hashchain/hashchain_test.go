package hashchain_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/hashchain"
)

// export is a chain of three records with a checkpoint.
func export(t testing.TB) (text string, keys map[string]ed25519.PublicKey) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	var end hashchain.End
	for _, record := range []string{`{"a":1}`, `{"a":"\u003cb\u003e"}`, `{}`} {
		line := hashchain.Next(end, []byte(record))
		if err := lines.Encode(hashchain.Exported{Line: &line}); err != nil {
			t.Fatal(err)
		}
		end = line.End()
	}
	c := hashchain.Checkpoint{Kind: hashchain.KindSeen, Sequence: end.Sequence, Hash: end.Hash, At: 1, KeyID: "k"}
	c.Signature = ed25519.Sign(private, c.Payload())
	if err := lines.Encode(hashchain.Exported{Checkpoint: &c}); err != nil {
		t.Fatal(err)
	}
	return out.String(), map[string]ed25519.PublicKey{"k": public}
}

func TestVerifyFindsTheFirstBrokenLine(t *testing.T) {
	text, keys := export(t)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	tests := map[string]struct {
		text string
		want int64
	}{
		"whole":                    {text, 0},
		"from the middle":          {strings.Join(lines[1:], ""), 0},
		"spaces":                   {strings.Replace(text, `{"a":1}`, `{ "a" : 1 }`, 1), 0},
		"repeated":                 {strings.Join([]string{lines[0], lines[1], lines[1], lines[2], lines[0], lines[1], lines[2], lines[3]}, ""), 0},
		"an edit":                  {strings.Replace(text, `"a":1`, `"a":2`, 1), 1},
		"a line less":              {lines[0] + lines[2], 2},
		"swapped":                  {lines[1] + lines[0] + lines[2], 1},
		"the end cut off":          {lines[0] + lines[1] + lines[3], 3},
		"another kind":             {strings.Replace(text, `"seen"`, `"cut"`, 1), 3},
		"a record that is no more": {lines[0] + strings.Replace(lines[1], `"hash"`, `"hush"`, 1) + lines[2], 2},
		"no JSON":                  {lines[0] + "{\n", 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := hashchain.Verify(strings.NewReader(tc.text), keys)
			var broken *hashchain.Broken
			got := int64(0)
			if errors.As(err, &broken) {
				got = broken.Sequence
			} else if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("broken at %d (%v), want %d", got, err, tc.want)
			}
		})
	}
}

// Whatever a file holds, reading it ends without a panic, and no change of one
// byte of a chain's records goes unseen.
func FuzzVerify(f *testing.F) {
	text, keys := export(f)
	f.Add(text)
	f.Add(`{"gap":{"from":1,"to":2}}`)
	f.Add(`{"seq":1,"record":null}`)
	f.Add("{}\n[]\n1")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := hashchain.Verify(strings.NewReader(text), keys)
		if err == nil && r.Lines > 0 && r.Last.Hash == "" {
			t.Error("a chain without an end holds")
		}
	})
}
