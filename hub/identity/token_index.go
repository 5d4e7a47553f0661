package identity

import (
	"crypto/sha256"
	"sync"
)

// tokenIndex holds every valid token of the hub by the hash of its bearer:
// about 300 B each, so 100,000 clusters cost about 30 MB.
type tokenIndex struct {
	mu     sync.RWMutex
	byHash map[[sha256.Size]byte]Token
	byID   map[string][sha256.Size]byte
	// loaded is set once Rebuild has run; goodAt is when the database last answered.
	loaded bool
	goodAt int64
}

func newTokenIndex() *tokenIndex {
	return &tokenIndex{byHash: map[[sha256.Size]byte]Token{}, byID: map[string][sha256.Size]byte{}}
}

func (x *tokenIndex) get(hash [sha256.Size]byte) (t Token, found, loaded bool, goodAt int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	t, found = x.byHash[hash]
	return t, found, x.loaded, x.goodAt
}

func (x *tokenIndex) put(t Token) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.putLocked(t)
}

func (x *tokenIndex) putLocked(t Token) {
	var hash [sha256.Size]byte
	copy(hash[:], t.Hash)
	if known, ok := x.byHash[hash]; ok && t.LastUsedAt < known.LastUsedAt {
		t.LastUsedAt = known.LastUsedAt
	}
	if old, ok := x.byID[t.ID]; ok && old != hash {
		// The session got another cookie value; the old one must not work any more.
		delete(x.byHash, old)
	}
	x.byHash[hash], x.byID[t.ID] = t, hash
}

func (x *tokenIndex) remove(ids ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		if hash, ok := x.byID[id]; ok {
			delete(x.byHash, hash)
			delete(x.byID, id)
		}
	}
}

func (x *tokenIndex) replace(tokens []Token, now int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.byHash
	x.byHash = make(map[[sha256.Size]byte]Token, len(tokens))
	x.byID = make(map[string][sha256.Size]byte, len(tokens))
	for _, t := range tokens {
		var hash [sha256.Size]byte
		copy(hash[:], t.Hash)
		if known, ok := old[hash]; ok && t.LastUsedAt < known.LastUsedAt {
			t.LastUsedAt = known.LastUsedAt
		}
		x.byHash[hash], x.byID[t.ID] = t, hash
	}
	x.loaded, x.goodAt = true, now
}

// touch records a use and reports whether it must be written to the database:
// the first use, or one that is at least coarse later than the last.
func (x *tokenIndex) touch(t Token, now, coarse int64) bool {
	if t.LastUsedAt != 0 && now-t.LastUsedAt < coarse {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	hash, ok := x.byID[t.ID]
	if !ok || x.byHash[hash].LastUsedAt != t.LastUsedAt {
		return false
	}
	t.LastUsedAt = now
	x.byHash[hash] = t
	return true
}

func (x *tokenIndex) good(now int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.goodAt = now
}

// sweep forgets tokens that expired.
func (x *tokenIndex) sweep(now int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for hash, t := range x.byHash {
		if t.expired(now) {
			delete(x.byHash, hash)
			delete(x.byID, t.ID)
		}
	}
}
