package identity

import (
	"crypto/sha256"
	"slices"
	"sync"
)

// tokenIndex holds every valid token of the hub by the hash of its bearer:
// about 300 B each, so 100,000 clusters cost about 30 MB.
type tokenIndex struct {
	mu     sync.RWMutex
	byHash map[[sha256.Size]byte]Token
	byID   map[string][sha256.Size]byte
	// forgotten are the ids of tokens that this replica deleted since the last sweep, and before
	// that since the one before. A read that began before the deletion brings none of them back.
	forgotten, before map[string]struct{}
	// loaded is set once Rebuild has run; goodAt is when the database last answered.
	loaded bool
	goodAt int64
}

func newTokenIndex() *tokenIndex {
	return &tokenIndex{byHash: map[[sha256.Size]byte]Token{}, byID: map[string][sha256.Size]byte{}, forgotten: map[string]struct{}{}}
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
	if x.isForgotten(t.ID) {
		return
	}
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

func (x *tokenIndex) isForgotten(id string) bool {
	_, now := x.forgotten[id]
	_, earlier := x.before[id]
	return now || earlier
}

// forget is remove for good.
func (x *tokenIndex) forget(ids ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		x.forgotten[id] = struct{}{}
	}
	x.removeLocked(ids)
}

func (x *tokenIndex) remove(ids ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.removeLocked(ids)
}

func (x *tokenIndex) removeLocked(ids []string) {
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
		x.putLocked(t)
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
	x.before, x.forgotten = x.forgotten, map[string]struct{}{}
	for hash, t := range x.byHash {
		if t.Expired(now) {
			delete(x.byHash, hash)
			delete(x.byID, t.ID)
		}
	}
}

func (x *tokenIndex) deploy(tokenID, clusterID string, now int64) (good, others bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if hash, ok := x.byID[tokenID]; ok && !x.byHash[hash].Expired(now) {
		return true, true
	}
	// A full scan is acceptable: this runs only when a token was removed while
	// its tunnel was up.
	for _, t := range x.byHash {
		if t.Kind == TokenDeploy && t.ClusterID == clusterID && !t.Expired(now) {
			return false, true
		}
	}
	return false, false
}

// find is get by a token's id.
func (x *tokenIndex) find(id string) (t Token, found, loaded bool, goodAt int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	t, found = x.byHash[x.byID[id]]
	return t, found, x.loaded, x.goodAt
}

// holds is stands as far as this replica knows. The caller holds the lock.
func (x *tokenIndex) holds(t Token, now int64) bool {
	for range maxDescent + 1 {
		if t.Expired(now) {
			return false
		}
		if !t.descends() {
			return true
		}
		hash, found := x.byID[t.EndsWith]
		if !found {
			return false
		}
		t = x.byHash[hash]
	}
	return false
}

// standing returns those of the tokens that are still valid.
func (x *tokenIndex) standing(tokens []Token, now int64) []Token {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.DeleteFunc(tokens, func(t Token) bool { return t.descends() && !x.holds(t, now) })
}

type tokenUse struct {
	tokens     int
	lastUsedAt int64
}

// byOwner counts valid tokens by owner.
func (x *tokenIndex) byOwner(now int64) map[string]tokenUse {
	x.mu.RLock()
	defer x.mu.RUnlock()
	uses := map[string]tokenUse{}
	for _, t := range x.byHash {
		if t.OwnerID == "" || t.Kind == TokenBootstrap || !x.holds(t, now) {
			continue
		}
		u := uses[t.OwnerID]
		u.tokens++
		u.lastUsedAt = max(u.lastUsedAt, t.LastUsedAt)
		uses[t.OwnerID] = u
	}
	return uses
}
