package federation

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/assertion"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// operatorLifetime is the longest life of the operator's token: after so long, a
	// ServiceAccount that was deleted is out.
	operatorLifetime = time.Minute
)

// Operator lets one ServiceAccount of the hub's own cluster act as a service account
// of the hub. Unlike a trust, its cluster is asked each time, so that its token may be
// exchanged again while it is valid.
type Operator struct {
	Reviewer Reviewer
	// Account is the name of the service account of the hub.
	Account string
	// Audience returns the URL of the hub, for which the tokens are.
	Audience func() string
}

// Reviewer asks a cluster about a token.
type Reviewer interface {
	// Subject is the sub claim of the tokens.
	Subject() string
	// Review returns nil for a token that is valid now for the audience. Unauthorized;
	// Unavailable when the cluster cannot be asked.
	Review(ctx context.Context, audience, token string) error
	// Known reports whether a token was accepted before.
	Known(token string) bool
}

// Known reports whether a token is the operator's, as far as this replica has seen.
func (ts *Trusts) Known(token string) bool {
	return ts.operator != nil && ts.operator.Reviewer.Known(token)
}

// exchangeOperator creates the token of the operator, after the cluster was asked.
func (ts *Trusts) exchangeOperator(ctx context.Context, said assertion.Assertion, token string) (identity.CreatedToken, error) {
	if err := ts.operator.Reviewer.Review(ctx, ts.operator.Audience(), token); err != nil {
		ts.log.Info("a token of the operator's ServiceAccount was refused", logkey.Reason, err)
		return identity.CreatedToken{}, err
	}
	// The cluster has accepted the token, and so its claims.
	lifetime := min(operatorLifetime, said.Expires.Sub(clock.FromMicros(ts.now())))
	if lifetime <= 0 {
		return identity.CreatedToken{}, errcode.New(errcode.Unauthorized, "the ServiceAccount's token has expired by the hub's clock, or has no end")
	}
	var made identity.CreatedToken
	err := ts.writer.Write(ctx, func(ctx context.Context) error {
		account, err := ts.directory.ServiceAccount(ctx, ts.operator.Account)
		if err != nil {
			return errcode.Hide(errcode.Unauthorized, err, "the hub has no service account %s for the operator; create it with: axle serviceaccounts create %s", ts.operator.Account, ts.operator.Account)
		}
		scopes := []string{identity.ScopeRead, identity.ScopeWrite}
		if account.Admin {
			scopes = identity.AllScopes
		}
		made = ts.credentials.Mint(identity.Token{
			Kind: identity.TokenFederated, Name: "operator", Scopes: scopes,
			OwnerID: account.ID, OwnerName: account.Name, OwnerKind: account.Kind, OwnerAdmin: account.Admin, EndsWith: identity.OperatorTrust,
		}, lifetime)
		return ts.credentials.Insert(ctx, made.Token)
	})
	if err != nil {
		return identity.CreatedToken{}, err
	}
	ts.credentials.Remember(made.Token)
	return made, nil
}
