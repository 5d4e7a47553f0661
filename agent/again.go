package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/axle-cd/axle/agent/identity"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// registeredAgain returns the identity to use when one is stored. It registers again
// if somebody has installed another bootstrap token since, as `axle clusters connect`
// does for a deleted cluster. A token that the hub rejects is not tried twice. While
// the hub is unavailable, the stored identity stays in use.
func registeredAgain(ctx context.Context, a *Agent, id *identity.Identity) (now *identity.Identity, fresh bool) {
	token, _, err := bootstrap.Read(a.cfg.TokenFile)
	if err != nil || tokenName(token) == id.TokenName {
		return id, false
	}
	// An identity registered by an earlier version does not name its token.
	if id.TokenName != "" {
		next, err := identity.New(a.cfg.HubURL, id.ClusterUID)
		if err == nil {
			err = a.register(ctx, next)
		}
		if err == nil {
			return next, true
		}
		a.cfg.Log.Warn("the hub rejected the new bootstrap token; the agent keeps its identity", logkey.Error, err)
		if errcode.Is(err, errcode.Unavailable) || ctx.Err() != nil {
			return id, false
		}
	}
	id.TokenName = tokenName(token)
	if err := a.identities.Save(ctx, id); err != nil {
		a.cfg.Log.Warn("the identity cannot be stored", logkey.Error, err)
	}
	return id, false
}

// tokenName identifies a token without revealing it.
func tokenName(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:8])
}
