package auditfile_test

import (
	"crypto/ed25519"
	"path/filepath"
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
		if err := auditfile.Append(path, nil, &hubv1.AuditCheckpoint{Kind: hashchain.KindSeen, Seq: seq + 1, Hash: "h", KeyId: "k", Signature: make([]byte, ed25519.SignatureSize)}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := auditfile.Read(path)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d checkpoints, %v", len(all), err)
	}
	for i, c := range all {
		if c.Sequence != int64(i+1) {
			t.Errorf("checkpoint %d is of record %d", i, c.Sequence)
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
				if err := auditfile.Append(path, nil, &hubv1.AuditCheckpoint{Kind: hashchain.KindSeen, Seq: w*each + i + 1, Hash: "h", KeyId: "k", Signature: make([]byte, ed25519.SignatureSize)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	stored, err := auditfile.Read(path)
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
