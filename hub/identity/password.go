package identity

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

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// The cost of argon2id: 19 MiB and two passes, some 30 ms of one core. A hash
// keeps its own, so that they may be raised.
const (
	hashMemory = 19 << 10 // KiB
	hashPasses = 2
	hashLanes  = 1
	hashSize   = 32
	saltSize   = 16
)

const (
	// minPassword is in characters, maxPassword in bytes.
	minPassword = 12
	maxPassword = 200
	// hashesAtOnce bounds memory and CPU that logins may take, hashWait how
	// long one waits for its turn.
	hashesAtOnce = 2
	hashWait     = 10 * time.Second
)

// errWrong is the one answer to every bad login, so that nobody learns which
// accounts there are.
var errWrong = errcode.New(errcode.Unauthorized, "the e-mail or the password is wrong")

// SecondFactor says what a user needs beside the password.
type SecondFactor struct {
	TOTP     bool
	Passkeys int
}

// Needed reports whether there is one.
func (f SecondFactor) Needed() bool { return f.TOTP || f.Passkeys > 0 }

// CheckPassword returns the user of an e-mail and a password, and what he
// needs beside them. An account that is not there costs as much time as one
// that is. Unauthorized; Exhausted when too many log in at once.
func (d *Directory) CheckPassword(ctx context.Context, email, password string) (User, SecondFactor, error) {
	if len(password) > maxPassword || len(email) > maxName {
		return User{}, SecondFactor{}, errWrong
	}
	user, stored, err := d.localUser(ctx, strings.TrimSpace(email))
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return User{}, SecondFactor{}, err
	}
	hash := stored.Hash
	if err != nil {
		hash = nobodysHash
	}
	good, gate := d.compare(ctx, hash, password)
	if gate != nil {
		return User{}, SecondFactor{}, gate
	}
	if err != nil || !good {
		return User{}, SecondFactor{}, errWrong
	}
	factor, err := d.SecondFactor(ctx, user.ID)
	return user, factor, err
}

// nobodysHash is compared with when there is no account, so that the answer
// takes as long.
var nobodysHash = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashPasses, hashLanes,
	base64.RawStdEncoding.EncodeToString(make([]byte, saltSize)), base64.RawStdEncoding.EncodeToString(make([]byte, hashSize)))

func (d *Directory) localUser(ctx context.Context, name string) (User, StoredPassword, error) {
	user, err := d.store.UserByName(ctx, name)
	if err != nil {
		return User{}, StoredPassword{}, err
	}
	stored, err := d.store.Password(ctx, user.ID)
	return user, stored, err
}

// HasPassword reports whether a user may log in here without a provider.
func (d *Directory) HasPassword(ctx context.Context, userID string) (bool, error) {
	_, err := d.store.Password(ctx, userID)
	if errcode.Is(err, errcode.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// ChangePassword sets the caller's own password, who must know the present
// one, and ends his other sessions. Invalid, Unauthorized.
func (d *Directory) ChangePassword(ctx context.Context, by Principal, present, wanted string) error {
	stored, err := d.store.Password(ctx, by.ID)
	if errcode.Is(err, errcode.NotFound) {
		return errcode.New(errcode.Invalid, "you log in through a provider; there is no password to change here")
	}
	if err != nil {
		return err
	}
	good, err := d.compare(ctx, stored.Hash, cut(present, maxPassword+1))
	if err != nil {
		return err
	}
	if !good {
		return errcode.New(errcode.Unauthorized, "the present password is wrong")
	}
	hash, err := d.newHash(ctx, by.Name, wanted)
	if err != nil {
		return err
	}
	var ended []Token
	err = d.writer.Write(ctx, func(ctx context.Context) error {
		latest, err := d.store.Password(ctx, by.ID)
		if err != nil {
			return err
		}
		latest.Hash, latest.ChangedAt = hash, d.now()
		if err := d.store.PutPassword(ctx, latest); err != nil {
			return err
		}
		all, err := d.store.LoginTokens(ctx, by.ID)
		if err != nil {
			return err
		}
		ended = nil
		for _, t := range all {
			if t.ID != by.TokenID {
				ended = append(ended, t)
			}
		}
		if err := d.endTokens(ctx, ended, by, "session.all_ended"); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "user.password_changed", Object: "user " + by.Name, By: by.By()})
	})
	if err != nil {
		return err
	}
	d.tokens.remove(ids(ended)...)
	return nil
}

// newHash checks a new password and hashes it. Invalid.
func (d *Directory) newHash(ctx context.Context, name, password string) (string, error) {
	switch {
	case utf8.RuneCountInString(password) < minPassword:
		return "", errcode.New(errcode.Invalid, "the password needs at least %d characters; a few words are easier to keep than signs", minPassword)
	case len(password) > maxPassword:
		return "", errcode.New(errcode.Invalid, "the password may have at most %d bytes", maxPassword)
	case strings.EqualFold(password, name) || strings.Count(password, password[:1]) == len(password):
		return "", errcode.New(errcode.Invalid, "this password is the first that somebody would try; choose another")
	}
	if err := d.takeHash(ctx); err != nil {
		return "", err
	}
	defer d.giveHash()
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails
	sum := argon2.IDKey([]byte(password), salt, hashPasses, hashMemory, hashLanes, hashSize)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashPasses, hashLanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum)), nil
}

// compare reports whether a password gives a hash, in a time that does not
// depend on how much of it is right.
func (d *Directory) compare(ctx context.Context, hash, password string) (bool, error) {
	cost, salt, want, err := parseHash(hash)
	if err != nil {
		return false, err
	}
	if err := d.takeHash(ctx); err != nil {
		return false, err
	}
	defer d.giveHash()
	got := argon2.IDKey([]byte(password), salt, cost.passes, cost.memory, cost.lanes, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

type hashCost struct {
	memory, passes uint32
	lanes          uint8
}

// parseHash reads "$argon2id$v=19$m=…,t=…,p=…$salt$sum". A cost far above ours
// is refused: it would be a way to stop the hub.
func parseHash(text string) (c hashCost, salt, sum []byte, err error) {
	bad := errcode.New(errcode.Internal, "a password's hash is damaged; set the password again")
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return c, nil, nil, bad
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes); n != 3 || err != nil {
		return c, nil, nil, bad
	}
	if c.memory < 8 || c.memory > 256<<10 || c.passes < 1 || c.passes > 16 || c.lanes < 1 || c.lanes > 8 {
		return c, nil, nil, bad
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil || len(salt) < 8 {
		return c, nil, nil, bad
	}
	if sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(sum) < 16 || len(sum) > 64 {
		return c, nil, nil, bad
	}
	return c, salt, sum, nil
}

// takeHash waits for one of the few places to hash a password in.
func (d *Directory) takeHash(ctx context.Context) error {
	select {
	case d.hashes <- struct{}{}:
		return nil
	default:
	}
	select {
	case d.hashes <- struct{}{}:
		return nil
	case <-time.After(hashWait):
		return errcode.New(errcode.Exhausted, "too many people log in at this moment; try again in a few seconds").After(5 * time.Second)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *Directory) giveHash() { <-d.hashes }
