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

// A checkpoint that was stored elsewhere must lie within an export and belong to the
// same line.
func TestVerifyAgainstAKeptCheckpoint(t *testing.T) {
	text, keys := export(t)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	all, _, err := hashchain.ReadCheckpoints(strings.NewReader(text))
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v %v", all, err)
	}
	kept, other, earlier := all[0], all[0], all[0]
	other.Hash = "other"
	earlier.Sequence = 1
	for name, tc := range map[string]struct {
		text string
		keys map[string]ed25519.PublicKey
		kept hashchain.Checkpoint
		want int64
	}{
		"whole":                        {text, keys, kept, 0},
		"without keys":                 {text, nil, kept, 0},
		"by another key":               {text, map[string]ed25519.PublicKey{"k": make([]byte, ed25519.PublicKeySize)}, kept, 3},
		"another line":                 {text, nil, other, 3},
		"the end cut off with its own": {lines[0] + lines[1], keys, kept, 3},
		"nothing at all":               {"", keys, kept, 1},
		"begins behind it":             {lines[1] + lines[2], nil, earlier, 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hashchain.Verify(strings.NewReader(tc.text), tc.keys, tc.kept)
			var broken *hashchain.Broken
			if errors.As(err, &broken); (broken == nil) != (tc.want == 0) || broken != nil && broken.Sequence != tc.want {
				t.Errorf("got %v, want line %d", err, tc.want)
			}
		})
	}
}

// Signed content cannot be removed or moved.
func TestCheckpointSignsTheNewestRecord(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := hashchain.Checkpoint{Kind: hashchain.KindCut, Sequence: 5, Hash: "h", At: 100, Newest: 40, KeyID: "k"}
	c.Signature = ed25519.Sign(private, c.Payload())
	for name, change := range map[string]func(*hashchain.Checkpoint){
		"as it is": func(*hashchain.Checkpoint) {}, "another time": func(c *hashchain.Checkpoint) { c.Newest = 1 }, "none": func(c *hashchain.Checkpoint) { c.Newest = 0 },
	} {
		changed := c
		change(&changed)
		if err := changed.Check(public); (err == nil) != (name == "as it is") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Allow(60); err != nil {
		t.Errorf("dropped in time: %v", err)
	}
	if err := c.Allow(61); err == nil {
		t.Error("dropped before its time")
	}
}

// Reading any file ends without a panic, and every accepted checkpoint can be
// compared.
func FuzzReadCheckpoints(f *testing.F) {
	text, _ := export(f)
	f.Add(text)
	f.Add(`{"kind":"seen","seq":1}`)
	f.Add("{}\n[]\n1")
	f.Fuzz(func(t *testing.T, text string) {
		all, _, err := hashchain.ReadCheckpoints(strings.NewReader(text))
		for _, c := range all {
			if err == nil && (c.Kind != hashchain.KindSeen || c.Sequence <= 0 || c.Hash == "") {
				t.Errorf("%+v is a checkpoint", c)
			}
		}
	})
}
