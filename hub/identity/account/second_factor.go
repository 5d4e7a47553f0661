package account

import (
	"context"
	"crypto/subtle"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// totpPeriod is the time step of one-time codes; the previous and the next
	// step are accepted too.
	totpPeriod = 30 * time.Second
	totpSkew   = 1
	// maxPasskeys limits the passkeys of one user.
	maxPasskeys = 20
)

var totpOptions = totp.ValidateOpts{Period: uint(totpPeriod / time.Second), Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1}

func purposeTOTP(userID string) string { return "one-time codes of user " + userID }

var errWrongCode = errcode.New(errcode.Unauthorized, "the code is wrong or was used already; wait for the next one")

// SecondFactor returns what a user needs beside the password.
func (ps *passwords) SecondFactor(ctx context.Context, userID string) (SecondFactor, error) {
	stored, err := ps.stores.Passwords.Password(ctx, userID)
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return SecondFactor{}, err
	}
	keys, err := ps.stores.Passkeys.Passkeys(ctx, userID)
	return SecondFactor{TOTP: stored.SealedTOTP != "", Passkeys: len(keys)}, err
}

// CheckTOTP accepts a one-time code, once. Unauthorized.
func (ps *passwords) CheckTOTP(ctx context.Context, userID, code string) error {
	stored, err := ps.stores.Passwords.Password(ctx, userID)
	if err != nil {
		return err
	}
	secret, err := ps.sealer.Open(stored.SealedTOTP, purposeTOTP(userID))
	if err != nil {
		return err
	}
	step, ok := totpStep(ps.clock.Now(), string(secret), code)
	if !ok {
		return errWrongCode
	}
	var fresh bool
	err = ps.writer.Write(ctx, func(ctx context.Context) (err error) {
		fresh, err = ps.stores.Passwords.UseTOTPStep(ctx, userID, step)
		return err
	})
	if err == nil && !fresh {
		return errWrongCode
	}
	return err
}

// totpStep returns the time step of a code.
func totpStep(now time.Time, secret, code string) (int64, bool) {
	if secret == "" || len(code) != otp.DigitsSix.Length() {
		return 0, false
	}
	found := int64(0)
	for off := -totpSkew; off <= totpSkew; off++ {
		at := now.Add(time.Duration(off) * totpPeriod)
		want, err := totp.GenerateCodeCustom(secret, at, totpOptions)
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			found = at.Unix() / int64(totpPeriod/time.Second)
		}
	}
	return found, found != 0
}

// NewTOTP returns a new secret for the caller. It is stored only after SetTOTP
// has seen a code of it.
func NewTOTP(by identity.Principal, hub string) (*otp.Key, error) {
	return totp.Generate(totp.GenerateOpts{Issuer: "Axle " + hub, AccountName: by.Name, Period: totpOptions.Period, Digits: totpOptions.Digits, Algorithm: totpOptions.Algorithm})
}

// SetTOTP stores a secret of one-time codes, given a code of it. Invalid;
// ErrProve as with every change of a second factor.
func (ps *passwords) SetTOTP(ctx context.Context, by identity.Principal, secret, code string) error {
	step, ok := totpStep(ps.clock.Now(), secret, code)
	if !ok {
		return errcode.New(errcode.Invalid, "the code is wrong; check that the phone's clock is correct")
	}
	return ps.changePassword(ctx, by, "user.second_factor_added", "one-time codes", func(p *StoredPassword) {
		p.SealedTOTP, p.TOTPStep = ps.sealer.Seal([]byte(secret), purposeTOTP(by.ID)), step
	})
}

// DropTOTP removes one-time codes.
func (ps *passwords) DropTOTP(ctx context.Context, by identity.Principal) error {
	return ps.changePassword(ctx, by, "user.second_factor_removed", "one-time codes", func(p *StoredPassword) { p.SealedTOTP, p.TOTPStep = "", 0 })
}

func (ps *passwords) changePassword(ctx context.Context, by identity.Principal, kind, message string, change func(*StoredPassword)) error {
	if err := ps.directory.Proved(ctx, by); err != nil {
		return err
	}
	return ps.writer.Write(ctx, func(ctx context.Context) error {
		p, err := ps.stores.Passwords.Password(ctx, by.ID)
		if errcode.Is(err, errcode.NotFound) {
			return errcode.New(errcode.Invalid, "you log in through a provider; set up second factors there")
		}
		if err != nil {
			return err
		}
		change(&p)
		if err := ps.stores.Passwords.PutPassword(ctx, p); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: kind, Object: "user " + by.Name, By: by.By(), Message: message})
	})
}

// Passkeys returns those of a user, oldest first.
func (ps *passwords) Passkeys(ctx context.Context, userID string) ([]Passkey, error) {
	return ps.stores.Passkeys.Passkeys(ctx, userID)
}

// AddPasskey stores a credential of the caller. Conflict when it is known,
// Exhausted when they have too many, ErrProve.
func (ps *passwords) AddPasskey(ctx context.Context, by identity.Principal, k Passkey) error {
	if err := ps.directory.Proved(ctx, by); err != nil {
		return err
	}
	k.UserID, k.CreatedAt = by.ID, ps.now()
	if k.Name = cut(k.Name, identity.MaxName); k.Name == "" {
		k.Name = "passkey of " + clock.FromMicros(k.CreatedAt).Format(time.DateOnly)
	}
	return ps.writer.Write(ctx, func(ctx context.Context) error {
		known, err := ps.stores.Passkeys.Passkeys(ctx, by.ID)
		if err != nil {
			return err
		}
		if len(known) >= maxPasskeys {
			return errcode.New(errcode.Exhausted, "you have %d passkeys; remove one first", len(known))
		}
		if err := ps.stores.Passkeys.InsertPasskey(ctx, k); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "user.second_factor_added", Object: "user " + by.Name, By: by.By(), Message: "passkey " + k.Name})
	})
}

// UsedPasskey records that a passkey was used; its counter is in the credential.
func (ps *passwords) UsedPasskey(ctx context.Context, k Passkey) error {
	k.LastUsedAt = ps.now()
	return ps.writer.Write(ctx, func(ctx context.Context) error { return ps.stores.Passkeys.UpdatePasskey(ctx, k) })
}

// DropPasskey removes one of the caller's passkeys. NotFound, ErrProve.
func (ps *passwords) DropPasskey(ctx context.Context, by identity.Principal, id string) error {
	if err := ps.directory.Proved(ctx, by); err != nil {
		return err
	}
	return ps.writer.Write(ctx, func(ctx context.Context) error {
		found, err := ps.stores.Passkeys.DeletePasskey(ctx, by.ID, id)
		if err != nil {
			return err
		}
		if !found {
			return errcode.New(errcode.NotFound, "you have no such passkey")
		}
		return event.Record(ctx, event.Entry{Kind: "user.second_factor_removed", Object: "user " + by.Name, By: by.By(), Message: "passkey"})
	})
}

// UseOnce records a use until it would have expired anyway; Conflict when it
// was used before.
func (ps *passwords) UseOnce(ctx context.Context, key string, expires time.Time) error {
	return ps.writer.Write(ctx, func(ctx context.Context) error {
		return ps.stores.Marks.UseOnce(ctx, key, clock.Micros(expires))
	})
}
