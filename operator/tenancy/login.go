package tenancy

import (
	"context"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

// exchangeTimeout bounds one login.
const exchangeTimeout = 15 * time.Second

// login exchanges the token of a ServiceAccount for one of the hub, when one is needed
// and the last one has ended or soon will.
type login struct {
	// hub is a client without a token.
	hub *sdk.Client
	// busy is held by the one that logs in or reads the fields below.
	busy   chan struct{}
	secret string
	// until is when the next login is due, by the operator's clock.
	until time.Time
}

// token returns a token of the hub. Others wait for the one that logs in.
func (l *login) token(ctx context.Context, now func() time.Time, read func() (string, error)) (string, error) {
	select {
	case l.busy <- struct{}{}:
		defer func() { <-l.busy }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	at := now()
	if at.Before(l.until) {
		return l.secret, nil
	}
	subject, err := read()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	answer, err := l.hub.Federation.Exchange(ctx, connect.NewRequest(&hubv1.ExchangeRequest{SubjectToken: subject}))
	if err != nil {
		return "", err
	}
	made := answer.Msg
	// The clocks may differ: only the length counts, with time for the calls to come.
	length := time.Duration(made.GetToken().GetExpiresAt()-made.GetToken().GetCreatedAt()) * time.Microsecond
	l.secret, l.until = made.GetSecret(), at.Add(length-length/4)
	return l.secret, nil
}
