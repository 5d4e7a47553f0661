package account

import (
	"context"
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// sessionLifetime ends a session even when it is in use.
	sessionLifetime = 7 * 24 * time.Hour
	// maxSessions limits a person's sessions; beyond it the oldest ends.
	maxSessions = 50
)

// The ways to log in to a session.
const (
	MethodPassword = "password"
	MethodPasskey  = "passkey"
	MethodOIDC     = "oidc"
	MethodSetup    = "setup"
)

// SessionTerms describe how a session began.
type SessionTerms struct {
	Method     string
	ProviderID string
	// Source is the address that it began from, Agent the browser's name.
	Source string
	Agent  string
	// ProvedAt is when its person last gave a proof, here or by the provider's
	// statement; 0 when the provider does not say.
	ProvedAt int64
}

// Session is one of a person's open sessions or command lines.
type Session struct {
	identity.Token
	SessionTerms
}

// sessions are the logins of people, in browsers and command lines.
type sessions struct{ *common }

// purposeIDToken binds a sealed ID token to its session.
func purposeIDToken(tokenID string) string { return "id token of session " + tokenID }

// StartSession opens a session for a user who has authenticated. Its bearer is
// valid only as a cookie and is refused where a token is required.
func (ss *sessions) StartSession(ctx context.Context, user identity.User, terms SessionTerms, idToken string) (identity.CreatedToken, error) {
	if user.Kind != identity.KindUser {
		return identity.CreatedToken{}, errcode.New(errcode.Forbidden, "only people have sessions")
	}
	made := ss.credentials.Mint(identity.Token{
		Kind: identity.TokenSession, Name: terms.Method, Scopes: identity.AllScopes,
		OwnerID: user.ID, OwnerName: user.Name, OwnerKind: user.Kind, OwnerAdmin: user.Admin,
	}, sessionLifetime)
	terms.Source, terms.Agent = cut(terms.Source, identity.MaxName), cut(terms.Agent, identity.MaxName)
	row := StoredSession{TokenID: made.ID, UserID: user.ID, SessionTerms: terms}
	if idToken != "" {
		row.Sealed = ss.sealer.Seal([]byte(idToken), purposeIDToken(made.ID))
	}
	var ended []identity.Token
	err := ss.writer.Write(ctx, func(ctx context.Context) (err error) {
		if ended, err = ss.crowdedOut(ctx, user.ID); err != nil {
			return err
		}
		if err := ss.credentials.Insert(ctx, made.Token); err != nil {
			return err
		}
		if err := ss.stores.Sessions.PutSession(ctx, row); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "session.started", Object: "user " + user.Name, By: user.Name, Message: "by " + terms.Method + " from " + terms.Source})
	})
	if err != nil {
		return identity.CreatedToken{}, fmt.Errorf("start a session: %w", err)
	}
	ss.credentials.Forget(ended...)
	ss.credentials.Remember(made.Token)
	return made, nil
}

// crowdedOut ends the oldest of too many sessions.
func (ss *sessions) crowdedOut(ctx context.Context, userID string) ([]identity.Token, error) {
	tokens, err := ss.stores.Sessions.LoginTokens(ctx, userID)
	if err != nil || len(tokens) < maxSessions {
		return nil, err
	}
	old := tokens[maxSessions-1:]
	return old, ss.credentials.Delete(ctx, old...)
}

// cut shortens a text that an unauthenticated client sent.
func cut(text string, n int) string {
	if len(text) > n {
		return text[:n]
	}
	return text
}

// Sessions lists a person's sessions and command line tokens, newest first. An
// administrator may list those of other users.
func (ss *sessions) Sessions(ctx context.Context, by identity.Principal, userID string) ([]Session, error) {
	userID, err := ss.whose(by, userID)
	if err != nil {
		return nil, err
	}
	tokens, err := ss.stores.Sessions.LoginTokens(ctx, userID)
	if err != nil {
		return nil, err
	}
	rows, err := ss.stores.Sessions.SessionsOf(ctx, userID, "")
	if err != nil {
		return nil, err
	}
	terms := make(map[string]SessionTerms, len(rows))
	for _, r := range rows {
		terms[r.TokenID] = r.SessionTerms
	}
	var all []Session
	now := ss.now()
	for _, t := range ss.credentials.Standing(tokens) {
		if !t.Expired(now) && (t.Kind != identity.TokenSession || !t.Idle(now)) {
			all = append(all, Session{Token: t, SessionTerms: terms[t.ID]})
		}
	}
	return all, nil
}

// whose returns the user that a call is about: the caller, or another user for
// an administrator.
func (ss *sessions) whose(by identity.Principal, userID string) (string, error) {
	if by.Kind != identity.KindUser && by.Kind != identity.KindServiceAccount {
		return "", errcode.New(errcode.Forbidden, "only people have sessions")
	}
	if userID == "" || userID == by.ID {
		return by.ID, nil
	}
	if !by.Administers() {
		return "", errcode.New(errcode.Forbidden, "only an administrator may manage the sessions of other users")
	}
	return userID, nil
}

// LogoutHint returns the provider of a session and the ID token that it began
// with; both are empty for a local session.
func (ss *sessions) LogoutHint(ctx context.Context, tokenID string) (providerID, idToken string, err error) {
	row, err := ss.stores.Sessions.Session(ctx, tokenID)
	if err != nil {
		return "", "", err
	}
	plain, err := ss.sealer.Open(row.Sealed, purposeIDToken(tokenID))
	if err != nil {
		return "", "", err
	}
	return row.ProviderID, string(plain), nil
}

// TermsOf returns how a session began, and when. NotFound.
func (ss *sessions) TermsOf(ctx context.Context, tokenID string) (terms SessionTerms, createdAt int64, err error) {
	row, err := ss.stores.Sessions.Session(ctx, tokenID)
	if err != nil {
		return terms, 0, err
	}
	t, err := ss.stores.Tokens.Token(ctx, tokenID)
	return row.SessionTerms, t.CreatedAt, err
}

// EndSession ends one session or command line token: the caller's own, or
// anybody's for an administrator. NotFound, Forbidden as Principal.MayEnd. Other
// replicas refuse it within 5 s.
func (ss *sessions) EndSession(ctx context.Context, by identity.Principal, id string) error {
	var t identity.Token
	err := ss.writer.Write(ctx, func(ctx context.Context) (err error) {
		t, err = ss.stores.Tokens.Token(ctx, id)
		if err != nil {
			return err
		}
		admin := by.Administers()
		if !t.OfLogin() || (t.OwnerID != by.ID && !admin) {
			return errcode.New(errcode.NotFound, "session %s does not exist or is not yours", id)
		}
		if err := by.MayEnd(t); err != nil {
			return err
		}
		return ss.credentials.End(ctx, []identity.Token{t}, by, "session.ended")
	})
	if err != nil {
		return err
	}
	ss.credentials.Forget(t)
	return nil
}

// EndSessions ends all sessions and command line tokens of a user, and with
// tokens also the tokens that they created, and returns how many there were. An
// empty user is the caller.
func (ss *sessions) EndSessions(ctx context.Context, by identity.Principal, userID string, tokens bool) (int, error) {
	userID, err := ss.whose(by, userID)
	if err != nil {
		return 0, err
	}
	var gone []identity.Token
	err = ss.writer.Write(ctx, func(ctx context.Context) (err error) {
		gone, err = ss.credentials.EndOwned(ctx, by, userID, tokens)
		return err
	})
	if err != nil {
		return 0, err
	}
	ss.credentials.Forget(gone...)
	return len(gone), nil
}

// Prove records that the person of a session has shown a password or a passkey
// at that time, and gives the session a new cookie value, so that a copy of the
// old cookie becomes worthless. Command lines that the session logged in
// continue to work.
func (ss *sessions) Prove(ctx context.Context, by identity.Principal, at int64) (identity.CreatedToken, error) {
	var made identity.CreatedToken
	err := ss.writer.Write(ctx, func(ctx context.Context) error {
		t, err := ss.stores.Tokens.Token(ctx, by.TokenID)
		if err != nil {
			return err
		}
		row, err := ss.stores.Sessions.Session(ctx, t.ID)
		if err != nil {
			return err
		}
		row.ProvedAt = at
		made = identity.CreatedToken{Token: t, Secret: bearertoken.New()}
		hash := bearertoken.Hash(made.Secret)
		made.Hash = hash[:]
		if err := ss.credentials.Update(ctx, made.Token); err != nil {
			return err
		}
		if err := ss.stores.Sessions.PutSession(ctx, row); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "session.proved", Object: "user " + by.Name, By: by.By()})
	})
	if err != nil {
		return identity.CreatedToken{}, err
	}
	ss.credentials.Remember(made.Token)
	return made, nil
}
