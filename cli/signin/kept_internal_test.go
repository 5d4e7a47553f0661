package signin

import (
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Commands that log in at once do it one after the other: each finds what the one before kept.
func TestLoginsAtOnceAreOneAfterTheOther(t *testing.T) {
	f := file{path: filepath.Join(t.TempDir(), "tokens.json")}
	const writers, each = 8, 5
	var all sync.WaitGroup
	for range writers {
		// A file is opened by each, as by a process of its own.
		all.Go(func() {
			for range each {
				unlock, err := f.lock(t.Context(), func() {})
				if err != nil {
					t.Error(err)
					return
				}
				k, err := f.read()
				if err == nil {
					k.ExpiresAt = k.ExpiresAt.Add(time.Second)
					k.ID += "x"
					err = f.write(k)
				}
				unlock()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if k, err := f.read(); err != nil || len(k.ID) != writers*each {
		t.Errorf("%d of %d changes are kept, %v", len(k.ID), writers*each, err)
	}
}
