package auditfile_test

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/auditfile"
	"github.com/axle-cd/axle/internal/hashchain"
)

// A file of checkpoints only grows: what was stored before is what a later check needs.
func TestAppendKeepsEarlierCheckpoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoints")
	for seq := range int64(3) {
		if err := auditfile.Append(path, nil, io.Discard, &hubv1.AuditCheckpoint{Kind: hashchain.KindSeen, Seq: seq + 1, Hash: "h", KeyId: "k", Signature: make([]byte, ed25519.SignatureSize)}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := auditfile.Read(path, io.Discard)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d checkpoints, %v", len(all), err)
	}
	for i, c := range all {
		if c.Sequence != int64(i+1) {
			t.Errorf("checkpoint %d is of record %d", i, c.Sequence)
		}
	}
}

// A command that is killed in the middle of a line, wherever, takes no other checkpoint with it.
func TestAppendAfterATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoints")
	appended := func(seq int64) (text []byte, warned string) {
		t.Helper()
		var warn strings.Builder
		if err := auditfile.Append(path, nil, &warn, &hubv1.AuditCheckpoint{Kind: hashchain.KindSeen, Seq: seq, Hash: "h", KeyId: "k", Signature: make([]byte, ed25519.SignatureSize)}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text, warn.String()
	}
	first, _ := appended(1)
	both, _ := appended(2)
	for end := len(first); end <= len(both); end++ {
		for _, zeros := range []string{"", "\x00\x00\x00"} { // as power failures leave them
			if err := os.WriteFile(path, append(both[:end:end], zeros...), 0o600); err != nil {
				t.Fatal(err)
			}
			at := fmt.Sprintf("cut at %d of %d, with %d zeros", end-len(first), len(both)-len(first), len(zeros))
			_, warned := appended(3)
			if unended := end != len(first) && end != len(both) || zeros != ""; (warned != "") != unended {
				t.Errorf("%s: reported %q", at, warned)
			}
			var left strings.Builder
			all, err := auditfile.Read(path, &left)
			got := ""
			for _, c := range all {
				got += fmt.Sprint(c.Sequence, " ")
			}
			want, torn := "1 3 ", end > len(first)
			if end >= len(both)-1 {
				want, torn = "1 2 3 ", false // it lacks its newline only, or nothing
			}
			if err != nil || got != want || strings.Contains(left.String(), "line 2 of") != torn {
				t.Errorf("%s: %s instead of %s, %v, reported %q", at, got, want, err, left.String())
			}
		}
	}
}

// Commands that append at once lose no checkpoint, and tear none.
func TestAppendAtOnceKeepsEach(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoints")
	const writers, each = 4, 50
	var all sync.WaitGroup
	for w := range int64(writers) {
		all.Go(func() {
			for i := range int64(each) {
				if err := auditfile.Append(path, nil, io.Discard, &hubv1.AuditCheckpoint{Kind: hashchain.KindSeen, Seq: w*each + i + 1, Hash: "h", KeyId: "k", Signature: make([]byte, ed25519.SignatureSize)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	stored, err := auditfile.Read(path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for _, c := range stored {
		seen[c.Sequence] = true
	}
	if len(seen) != writers*each {
		t.Errorf("%d of %d checkpoints are there", len(seen), writers*each)
	}
}
