package account

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// cliLifetime is the default life of a command line's token: a working day.
	// With a browser that is still logged in, the next login is one click.
	cliLifetime = 12 * time.Hour
	// maxCLILifetime is the longest that may be requested, as long as a session.
	maxCLILifetime = sessionLifetime
	// codeLifetime is how long a command line has to trade its code.
	codeLifetime = 2 * time.Minute
	// purposeCode binds a sealed code to its purpose.
	purposeCode = "code of a command line's login"
)

// CLIRequest is what a command line asks a person to allow.
type CLIRequest struct {
	// Client names the requesting machine and program, for people.
	Client string
	// Scopes default to all that a session has.
	Scopes []string
	// Lifetime defaults to 12 h; it is limited to 7 days and to the rest of the
	// session.
	Lifetime time.Duration
	// Challenge is the base64url SHA-256 of the verifier (PKCE, S256).
	Challenge string
}

// Check returns the request with its defaults. Invalid.
func (r CLIRequest) Check() (CLIRequest, error) {
	r.Client = strings.Map(printable, cut(r.Client, identity.MaxName))
	if r.Client == "" {
		r.Client = "axle"
	}
	if len(r.Scopes) == 0 {
		r.Scopes = identity.AllScopes
	}
	for _, s := range r.Scopes {
		if !slices.Contains(identity.AllScopes, s) {
			return r, errcode.New(errcode.Invalid, "scope %.40q does not exist; use read, write or admin", s)
		}
	}
	if r.Lifetime == 0 {
		r.Lifetime = cliLifetime
	}
	if r.Lifetime < time.Minute || r.Lifetime > maxCLILifetime {
		return r, errcode.New(errcode.Invalid, "a login of the command line lives between a minute and %d days; for more, make an API token", int(maxCLILifetime.Hours()/24))
	}
	return r, nil
}

// printable drops runes that could disturb a page or a terminal.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
		return -1
	}
	return r
}

// cliCode is the content of a code. It is sealed into the code itself, so that
// codes which are never traded need no storage.
type cliCode struct {
	Nonce     string        `json:"n"`
	UserID    string        `json:"u"`
	Session   string        `json:"s"`
	Challenge string        `json:"c"`
	Client    string        `json:"l"`
	Scopes    []string      `json:"o"`
	Lifetime  time.Duration `json:"t"`
	ExpiresAt int64         `json:"e"`
}

// AllowCLI returns the code that a command line trades for its token, after the
// person of a session agreed. ErrProve when the login was too long ago.
func (ss *sessions) AllowCLI(ctx context.Context, by identity.Principal, r CLIRequest) (string, error) {
	r, err := r.Check()
	if err != nil {
		return "", err
	}
	if err := ss.directory.ProvedForCLI(ctx, by); err != nil {
		return "", err
	}
	if sum, err := base64.RawURLEncoding.DecodeString(r.Challenge); err != nil || len(sum) != sha256.Size {
		return "", errcode.New(errcode.Invalid, "the code challenge is not a SHA-256 in base64url")
	}
	text, err := json.Marshal(cliCode{
		Nonce: identity.NewID(""), UserID: by.ID, Session: by.TokenID, Challenge: r.Challenge, Client: r.Client, Scopes: r.Scopes,
		Lifetime: r.Lifetime, ExpiresAt: ss.now() + codeLifetime.Microseconds(),
	})
	if err != nil {
		return "", err
	}
	return ss.sealer.Seal(text, purposeCode), nil
}

var errCode = errcode.New(errcode.Unauthorized, "the code of the login is not known, was used, or has expired; log in again")

// ExchangeCode trades a code of AllowCLI and the verifier of its challenge for
// a token, once. The session that allowed it must still be open.
func (ss *sessions) ExchangeCode(ctx context.Context, code, verifier string) (identity.CreatedToken, error) {
	if len(code) > 4096 || len(verifier) > 256 {
		return identity.CreatedToken{}, errCode
	}
	text, err := ss.sealer.Open(code, purposeCode)
	if err != nil || len(text) == 0 {
		return identity.CreatedToken{}, errCode
	}
	var c cliCode
	if err := json.Unmarshal(text, &c); err != nil || ss.now() >= c.ExpiresAt {
		return identity.CreatedToken{}, errCode
	}
	sum := sha256.Sum256([]byte(verifier))
	if subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(c.Challenge)) != 1 {
		return identity.CreatedToken{}, errCode
	}
	used := sha256.Sum256([]byte(c.Nonce))
	return ss.issueCLI(ctx, c.UserID, c.Session, CLIRequest{Client: c.Client, Scopes: c.Scopes, Lifetime: c.Lifetime}, func(ctx context.Context) error {
		return ss.stores.Marks.UseOnce(ctx, "code "+hex.EncodeToString(used[:]), c.ExpiresAt)
	})
}

// issueCLI creates a command line's token for the person of a session, with
// which it ends. once runs first, in the same transaction.
func (ss *sessions) issueCLI(ctx context.Context, userID, session string, r CLIRequest, once func(ctx context.Context) error) (identity.CreatedToken, error) {
	var made identity.CreatedToken
	err := ss.writer.Write(ctx, func(ctx context.Context) error {
		if err := once(ctx); err != nil {
			if errcode.Is(err, errcode.Conflict) {
				return errCode
			}
			return err
		}
		open, err := ss.credentials.Maker(ctx, session)
		if errcode.Is(err, errcode.Unauthorized) || err == nil && open.OwnerID != userID {
			return errcode.New(errcode.Unauthorized, "the session that allowed this login has ended; log in again")
		}
		if err != nil {
			return err
		}
		user, err := ss.stores.Users.User(ctx, userID)
		if err != nil {
			return err
		}
		made = ss.credentials.Mint(identity.Token{
			Kind: identity.TokenCLI, Name: r.Client, Scopes: r.Scopes, EndsWith: open.ID, ExpiresAt: open.ExpiresAt,
			Origin:  &identity.Origin{Token: open.ID, By: user.Name, Depth: 1},
			OwnerID: user.ID, OwnerName: user.Name, OwnerKind: user.Kind, OwnerAdmin: user.Admin,
		}, r.Lifetime)
		if err := ss.credentials.Insert(ctx, made.Token); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "token.created", Object: "token " + r.Client, By: user.Name, Message: "a login of the command line, scopes " + strings.Join(r.Scopes, ", ")})
	})
	if err != nil {
		return identity.CreatedToken{}, err
	}
	ss.credentials.Remember(made.Token)
	return made, nil
}
