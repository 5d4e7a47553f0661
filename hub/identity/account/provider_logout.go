package account

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// LogoutPath is where the provider sends back-channel logouts, below the hub's
// URL. Each provider has its own, as with CallbackPath.
func (p Provider) LogoutPath() string { return "/login/backchannel/" + p.Name }

// Logout is a provider's message that an account logged out there, from a token
// that was verified.
type Logout struct {
	// Subject is the account and Session the provider's own session; one of
	// the two may be empty.
	Subject, Session string
	// TokenID is the token's id. It counts once; after Until the token is too
	// old to be accepted.
	TokenID string
	Until   time.Time
}

// LogoutBy ends what a provider reports as logged out, and returns how many
// sessions and command lines ended. For a session at the provider, it ends the
// sessions here that began with it. For an account without a session, it ends
// everything that came through the provider, and its command lines. Other
// replicas refuse them within 5 s. Conflict when the token was used before.
func (ps *providers) LogoutBy(ctx context.Context, p Provider, l Logout) (int, error) {
	used := sha256.Sum256([]byte(l.TokenID))
	var tokens []identity.Token
	err := ps.writer.Write(ctx, func(ctx context.Context) (err error) {
		// Record this in the transaction: after a logout that failed here the
		// provider may send it again.
		if err := ps.stores.Marks.UseOnce(ctx, "logout "+p.ID+" "+hex.EncodeToString(used[:]), clock.Micros(l.Until)); err != nil {
			return err
		}
		if l.Subject != "" {
			tokens, err = ps.tokensOfSubject(ctx, p, l)
		} else {
			tokens, err = ps.tokensOfSession(ctx, p, l.Session)
		}
		if err != nil {
			return err
		}
		return ps.credentials.End(ctx, tokens, identity.Principal{Name: "login provider " + p.Name}, "session.ended_by_provider")
	})
	if err != nil {
		return 0, err
	}
	ps.credentials.Forget(tokens...)
	return len(tokens), nil
}

// tokensOfSubject returns the tokens that end with a logout of an account.
func (ps *providers) tokensOfSubject(ctx context.Context, p Provider, l Logout) ([]identity.Token, error) {
	subject, err := ps.stores.Subjects.Subject(ctx, p.ID, l.Subject)
	if errcode.Is(err, errcode.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := ps.stores.Sessions.SessionsOf(ctx, subject.UserID, "")
	if err != nil {
		return nil, err
	}
	over := map[string]bool{}
	for _, row := range rows {
		if row.ProviderID != p.ID {
			continue
		}
		// A session that does not record its session at the provider may be the one.
		if sid := ps.sessionAtProvider(row); l.Session == "" || sid == "" || sid == l.Session {
			over[row.TokenID] = true
		}
	}
	tokens, err := ps.stores.Sessions.LoginTokens(ctx, subject.UserID)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(tokens, func(t identity.Token) bool {
		return !over[t.ID] && (l.Session != "" || t.Kind != identity.TokenCLI)
	}), nil
}

// tokensOfSession returns the tokens that end with a session at the provider.
func (ps *providers) tokensOfSession(ctx context.Context, p Provider, session string) ([]identity.Token, error) {
	rows, err := ps.stores.Sessions.SessionsOf(ctx, "", p.ID)
	if err != nil || session == "" {
		return nil, err
	}
	var tokens []identity.Token
	for _, row := range rows {
		if ps.sessionAtProvider(row) != session {
			continue
		}
		t, err := ps.stores.Tokens.Token(ctx, row.TokenID)
		if errcode.Is(err, errcode.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// sessionAtProvider returns the claim sid of the ID token that a session began
// with, which was verified then; empty when it has none.
func (ps *providers) sessionAtProvider(row StoredSession) string {
	plain, err := ps.sealer.Open(row.Sealed, purposeIDToken(row.TokenID))
	if err != nil {
		return ""
	}
	parts := strings.Split(string(plain), ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Session string `json:"sid"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return ""
	}
	return claims.Session
}
