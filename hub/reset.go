package hub

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/wiring"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/clock"
)

// resetLimit limits how long a reset waits for the database.
const resetLimit = 30 * time.Second

// Reset lets one person choose a new password.
type Reset struct {
	User string
	// URL works once; it is only a path when the hub's URL was not given.
	URL       string
	ExpiresAt time.Time
	// Ended is the number of sessions, command lines and tokens that ended.
	Ended int
}

// ResetLogin creates a reset link for a person who lost the password, even
// while the hub runs. Access to the hub's database and key authorizes it. With
// dropFactors it removes second factors too.
func ResetLogin(ctx context.Context, c Config, email string, dropFactors bool) (r Reset, err error) {
	if c, err = c.forDatabase(); err != nil {
		return Reset{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, resetLimit)
	defer cancel()
	s, err := store.OpenBeside(ctx, c.storeConfig())
	if err != nil {
		return Reset{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	parts, err := wiring.New(wiring.Config{Stores: s.IdentityStores(), Writer: s, Sealer: s.Sealer(), Clock: c.Clock, Log: c.Log})
	if err != nil {
		return Reset{}, err
	}
	log, err := audit.New(audit.Config{Chain: s, Checkpoints: s, Cursors: s, Signer: parts.Signer, Clock: c.Clock, Log: c.Log})
	if err != nil {
		return Reset{}, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	made, ended, err := parts.Accounts.PrepareReset(ctx, identity.Principal{Name: resetActor}, email, dropFactors)
	if err != nil {
		return Reset{}, err
	}
	// Without an audit record nobody gets the token.
	if err := log.AddNow(ctx, resetRecord(made, ended, dropFactors)); err != nil {
		return Reset{}, err
	}
	return Reset{
		User: made.OwnerName, URL: strings.TrimRight(c.ExternalURL, "/") + login.ResetPath + "?token=" + url.QueryEscape(made.Secret),
		ExpiresAt: clock.FromMicros(made.ExpiresAt), Ended: ended,
	}, nil
}

// resetActor is the actor in records: the person at the machine.
const resetActor = "axle-hub admin reset"

func resetRecord(made identity.CreatedToken, ended int, dropFactors bool) audit.Record {
	r := audit.Record{
		Actor: resetActor, ActorKind: "hub", Action: "login.reset_prepared", Kind: "user", Name: made.OwnerName, TokenID: made.ID,
		Result: audit.ResultOK, Detail: map[string]string{"second_factors": "kept", "ended": strconv.Itoa(ended)},
	}
	if dropFactors {
		r.Detail["second_factors"] = "dropped"
	}
	if host, err := os.Hostname(); err == nil {
		r.Detail["host"] = host
	}
	return r
}
