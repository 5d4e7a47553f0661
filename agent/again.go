package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// registeredAgain returns the identity to use where one is stored: a new one
// when somebody has put another bootstrap token here since, as `axle clusters
// connect` does for a cluster that was forgotten. What the hub refuses is not
// tried again with the same token; while it is away the stored one goes on.
func registeredAgain(ctx context.Context, a *Agent, id *identity) (now *identity, fresh bool) {
	token, _, err := bootstrap.Read(a.cfg.TokenFile)
	if err != nil || tokenName(token) == id.TokenName {
		return id, false
	}
	// One that an earlier version registered does not say with which token.
	if id.TokenName != "" {
		next, err := newIdentity(a.cfg.HubURL, id.ClusterUID)
		if err == nil {
			err = a.register(ctx, next)
		}
		if err == nil {
			return next, true
		}
		a.cfg.Log.Warn("the new bootstrap token registers nothing; the agent keeps its identity", logkey.Error, err)
		if errcode.Is(err, errcode.Unavailable) || ctx.Err() != nil {
			return id, false
		}
	}
	id.TokenName = tokenName(token)
	if err := a.identities.save(ctx, id); err != nil {
		a.cfg.Log.Warn("the identity cannot be stored", logkey.Error, err)
	}
	return id, false
}

// tokenName tells tokens apart and gives none away.
func tokenName(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:8])
}
