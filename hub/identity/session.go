package identity

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// sessionLifetime ends a session even when it is in use.
	sessionLifetime = 7 * 24 * time.Hour
	// sessionIdle ends a session that was not used for so long.
	sessionIdle = 12 * time.Hour
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
	Token
	SessionTerms
}

// purposeIDToken binds a sealed ID token to its session.
func purposeIDToken(tokenID string) string { return "id token of session " + tokenID }

// StartSession opens a session for a user who has authenticated. Its bearer is
// valid only as a cookie and is refused where a token is required.
func (d *Directory) StartSession(ctx context.Context, user User, terms SessionTerms, idToken string) (CreatedToken, error) {
	if user.Kind != KindUser {
		return CreatedToken{}, errcode.New(errcode.Forbidden, "only people have sessions")
	}
	made := d.mint(Token{
		Kind: TokenSession, Name: terms.Method, Scopes: allScopes,
		OwnerID: user.ID, OwnerName: user.Name, OwnerKind: user.Kind, OwnerAdmin: user.Admin,
	}, sessionLifetime)
	terms.Source, terms.Agent = cut(terms.Source, maxName), cut(terms.Agent, maxName)
	row := StoredSession{TokenID: made.ID, UserID: user.ID, SessionTerms: terms}
	if idToken != "" {
		row.Sealed = d.sealer.Seal([]byte(idToken), purposeIDToken(made.ID))
	}
	var ended []Token
	err := d.writer.Write(ctx, func(ctx context.Context) (err error) {
		if ended, err = d.crowdedOut(ctx, user.ID); err != nil {
			return err
		}
		if err := insertToken(ctx, d.store, made.Token); err != nil {
			return err
		}
		if err := d.store.PutSession(ctx, row); err != nil {
			return err
		}
		if err := appendTokens(ctx, ended...); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "session.started", Object: "user " + user.Name, By: user.Name, Message: "by " + terms.Method + " from " + terms.Source})
	})
	if err != nil {
		return CreatedToken{}, fmt.Errorf("start a session: %w", err)
	}
	d.tokens.remove(ids(ended)...)
	d.tokens.put(made.Token)
	return made, nil
}

// crowdedOut ends the oldest of too many sessions.
func (d *Directory) crowdedOut(ctx context.Context, userID string) ([]Token, error) {
	tokens, err := d.store.LoginTokens(ctx, userID)
	if err != nil || len(tokens) < maxSessions {
		return nil, err
	}
	old := tokens[maxSessions-1:]
	return old, d.store.DeleteTokens(ctx, ids(old))
}

func ids(tokens []Token) []string {
	all := make([]string, 0, len(tokens))
	for _, t := range tokens {
		all = append(all, t.ID)
	}
	return all
}

// cut shortens a text that an unauthenticated client sent.
func cut(text string, n int) string {
	if len(text) > n {
		return text[:n]
	}
	return text
}

// AuthenticateSession returns the caller of a session cookie, from memory, like
// Authenticate. A session ends after 7 days, or 12 h without use.
func (d *Directory) AuthenticateSession(ctx context.Context, bearer string) (Principal, error) {
	t, err := d.known(ctx, bearer)
	if err != nil {
		return Principal{}, err
	}
	if t.Kind != TokenSession {
		return Principal{}, errUnknown
	}
	now := d.now()
	if idle(t, now) {
		// Another replica may have recorded a use since.
		if t, err = d.store.Token(ctx, t.ID); err != nil || idle(t, now) {
			return Principal{}, errcode.New(errcode.Unauthorized, "the session ended because it was not used for %d h; log in again", int(sessionIdle.Hours()))
		}
		d.tokens.put(t)
	}
	d.used(t, now)
	return d.principal(t), nil
}

func idle(t Token, now int64) bool {
	return now-max(t.CreatedAt, t.LastUsedAt) > sessionIdle.Microseconds()
}

// Sessions lists a person's sessions and command line tokens, newest first. An
// administrator may list those of other users.
func (d *Directory) Sessions(ctx context.Context, by Principal, userID string) ([]Session, error) {
	userID, err := d.whose(by, userID)
	if err != nil {
		return nil, err
	}
	tokens, err := d.store.LoginTokens(ctx, userID)
	if err != nil {
		return nil, err
	}
	rows, err := d.store.SessionsOf(ctx, userID, "")
	if err != nil {
		return nil, err
	}
	terms := make(map[string]SessionTerms, len(rows))
	for _, r := range rows {
		terms[r.TokenID] = r.SessionTerms
	}
	var all []Session
	now := d.now()
	for _, t := range d.tokens.standing(tokens, now) {
		if !t.expired(now) && (t.Kind != TokenSession || !idle(t, now)) {
			all = append(all, Session{Token: t, SessionTerms: terms[t.ID]})
		}
	}
	return all, nil
}

// whose returns the user that a call is about: the caller, or another user for
// an administrator.
func (d *Directory) whose(by Principal, userID string) (string, error) {
	if by.Kind != KindUser && by.Kind != KindServiceAccount {
		return "", errcode.New(errcode.Forbidden, "only people have sessions")
	}
	if userID == "" || userID == by.ID {
		return by.ID, nil
	}
	if !by.Admin || !by.HasScope(ScopeAdmin) {
		return "", errcode.New(errcode.Forbidden, "only an administrator may manage the sessions of other users")
	}
	return userID, nil
}

// LogoutHint returns the provider of a session and the ID token that it began
// with; both are empty for a local session.
func (d *Directory) LogoutHint(ctx context.Context, tokenID string) (providerID, idToken string, err error) {
	row, err := d.store.Session(ctx, tokenID)
	if err != nil {
		return "", "", err
	}
	plain, err := d.sealer.Open(row.Sealed, purposeIDToken(tokenID))
	if err != nil {
		return "", "", err
	}
	return row.ProviderID, string(plain), nil
}

// EndSession ends one session or command line token: the caller's own, or
// anybody's for an administrator. NotFound. Other replicas refuse it within 5 s.
func (d *Directory) EndSession(ctx context.Context, by Principal, id string) error {
	var t Token
	err := d.writer.Write(ctx, func(ctx context.Context) (err error) {
		t, err = d.store.Token(ctx, id)
		if err != nil {
			return err
		}
		admin := by.Admin && by.HasScope(ScopeAdmin)
		if !t.ofLogin() || (t.OwnerID != by.ID && !admin) {
			return errcode.New(errcode.NotFound, "session %s does not exist or is not yours", id)
		}
		return d.endTokens(ctx, []Token{t}, by, "session.ended")
	})
	if err != nil {
		return err
	}
	d.tokens.remove(id)
	return nil
}

// EndSessions ends all sessions and command line tokens of a user, and with
// tokens also the tokens that they created, and returns how many there were. An
// empty user is the caller.
func (d *Directory) EndSessions(ctx context.Context, by Principal, userID string, tokens bool) (int, error) {
	userID, err := d.whose(by, userID)
	if err != nil {
		return 0, err
	}
	var gone []Token
	err = d.writer.Write(ctx, func(ctx context.Context) (err error) {
		gone, err = d.endOf(ctx, by, userID, tokens)
		return err
	})
	if err != nil {
		return 0, err
	}
	d.tokens.remove(ids(gone)...)
	return len(gone), nil
}

// endOf ends a user's logins, or everything that they have, in the transaction
// of the context, and returns what ended.
func (d *Directory) endOf(ctx context.Context, by Principal, userID string, everything bool) ([]Token, error) {
	if err := event.Rely(ctx, tokensOf(userID)); err != nil {
		return nil, err
	}
	all, err := d.store.OwnedTokens(ctx, userID)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t Token) bool { return !everything && !t.ofLogin() })
	return all, d.endTokens(ctx, all, by, "session.all_ended")
}

// endTokens deletes tokens in the transaction of the context and records an event.
func (d *Directory) endTokens(ctx context.Context, tokens []Token, by Principal, kind string) error {
	if len(tokens) == 0 {
		return nil
	}
	if err := d.store.DeleteTokens(ctx, ids(tokens)); err != nil {
		return err
	}
	if err := appendTokens(ctx, tokens...); err != nil {
		return err
	}
	return event.Record(ctx, event.Entry{Kind: kind, Object: "user " + tokens[0].OwnerName, By: by.By()})
}

// ofLogin reports whether the token came from a login, so that logging out
// everywhere ends it.
func (t Token) ofLogin() bool { return t.Kind == TokenSession || t.Kind == TokenCLI }
