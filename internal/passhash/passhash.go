// Package passhash turns passwords into argon2id hashes and compares them. It bounds
// the cost: few computations at once, a salt each, and a time that does not reveal
// how much of a password was right. It keeps nothing and knows no users; hub/identity
// calls it.
//
// Invariants: a hash costs 19 MiB and about 30 ms of one core, and carries its own
// cost, so that ours may be raised; at most two are computed at once for strangers, and
// two for others, and a caller that waits longer than 10 s gets an error and must retry;
// a hash whose cost is far
// above ours is rejected, because it could be used to stop the hub.
package passhash

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// The cost of a new hash.
const (
	memory   = 19 << 10 // KiB
	passes   = 2
	lanes    = 1
	hashSize = 32
	saltSize = 16
)

const (
	// Min is in characters, Max in bytes.
	Min = 12
	Max = 200
	// atOnce bounds the memory and CPU for logins, of strangers and of others, wait
	// how long one waits for its turn, and queue how many wait.
	atOnce = 2
	wait   = 10 * time.Second
	queue  = 128
)

// Nobody is the hash of no password. Comparing with it takes as long as with a
// user's, so that the time does not reveal which accounts exist.
var Nobody = encode(make([]byte, saltSize), make([]byte, hashSize))

// Hasher makes and compares hashes. It is safe for concurrent use.
type Hasher struct{ strangers, others *pool.Places }

// New returns a Hasher.
func New(pools *pool.Set) *Hasher {
	places := func(name, of string) *pool.Places {
		return pools.Places(pool.Spec{Name: name, Of: of, Size: atOnce, Queue: queue, Within: wait, Retry: 5 * time.Second})
	}
	return &Hasher{places("strangers_passwords", "passwords of those who log in"), places("passwords", "passwords of those who are known")}
}

// Hash checks a new password of a user with that name and hashes it. Errors are
// Invalid, or Exhausted if too many wait.
func (h *Hasher) Hash(ctx context.Context, name, password string) (string, error) {
	switch {
	case utf8.RuneCountInString(password) < Min:
		return "", errcode.New(errcode.Invalid, "the password needs at least %d characters; a few words are easier to remember than symbols", Min)
	case len(password) > Max:
		return "", errcode.New(errcode.Invalid, "the password may have at most %d bytes", Max)
	case strings.EqualFold(password, name) || strings.Count(password, password[:1]) == len(password):
		return "", errcode.New(errcode.Invalid, "this password is too easy to guess; choose another")
	}
	held, err := h.take(ctx)
	if err != nil {
		return "", err
	}
	defer held.Leave()
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails
	return encode(salt, argon2.IDKey([]byte(password), salt, passes, memory, lanes, hashSize)), nil
}

func encode(salt, sum []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, passes, lanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

// Compare reports whether a password matches a hash. Exhausted if too many wait;
// Internal if the hash is damaged.
func (h *Hasher) Compare(ctx context.Context, hash, password string) (bool, error) {
	c, err := parse(hash)
	if err != nil {
		return false, err
	}
	held, err := h.take(ctx)
	if err != nil {
		return false, err
	}
	defer held.Leave()
	got := argon2.IDKey([]byte(password), c.salt, c.passes, c.memory, c.lanes, uint32(len(c.sum)))
	return subtle.ConstantTimeCompare(got, c.sum) == 1, nil
}

type parsed struct {
	memory, passes uint32
	lanes          uint8
	salt, sum      []byte
}

// parse parses "$argon2id$v=19$m=…,t=…,p=…$salt$sum".
func parse(text string) (c parsed, err error) {
	bad := errcode.New(errcode.Internal, "a password's hash is damaged; set the password again")
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return c, bad
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes); n != 3 || err != nil {
		return c, bad
	}
	if c.memory < 8 || c.memory > 256<<10 || c.passes < 1 || c.passes > 16 || c.lanes < 1 || c.lanes > 8 {
		return c, bad
	}
	if c.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil || len(c.salt) < 8 {
		return c, bad
	}
	if c.sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(c.sum) < 16 || len(c.sum) > 64 {
		return c, bad
	}
	return c, nil
}

// take waits for one of the few slots for hashing.
func (h *Hasher) take(ctx context.Context) (*pool.Held, error) {
	c := pool.Of(ctx)
	if c.Stranger {
		return h.strangers.Wait(ctx, c)
	}
	return h.others.Wait(ctx, c)
}
