package agentkey

import (
	"context"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// Finding is a cluster of Cluster API that others made, as the agent of its management
// cluster found it.
type Finding struct {
	// ManagementID is the management cluster, Management its name, and UID that of the Cluster
	// object there.
	ManagementID, Management, UID string
	// Name and Handle are wanted; an empty handle is the name.
	Name, Handle string
	Tags         map[string]string
	// The others are those of the bootstrap token, as in Enrollment.
	ProjectID          string
	Pending, FleetWide bool
	By                 string
}

// Trade trades a bootstrap token for one that is fixed to a cluster which a management
// cluster found, and makes its row. Name, handle and tags must be on the token's list, the
// project is the token's, and the new token ends with it. It may be repeated until an agent of
// the cluster has registered: that uses the token no second time, and ends the one of the
// answer before. Forbidden for a token that allows none of it, Conflict as Clusters.Found.
func (ks *Keys) Trade(ctx context.Context, bearer string, f Finding) (c Enrolled, made identity.CreatedToken, err error) {
	err = ks.writeInTurn(ctx, func(ctx context.Context) error {
		token, err := ks.bootstrapToken(ctx, bearer)
		if err != nil {
			return refusedToken(err)
		}
		if token.ClusterID != "" {
			return errcode.New(errcode.Forbidden, "the bootstrap token is for cluster %s only; make one for new clusters (axle tokens create --bootstrap)", token.ClusterName)
		}
		for _, name := range []string{f.Name, f.Handle} {
			if name == "" && f.Name != "" {
				continue
			}
			if err := checkTerms(*token.Bootstrap, name, f.Tags); err != nil {
				return err
			}
		}
		f.ProjectID, f.FleetWide, f.Pending, f.By = token.Bootstrap.ProjectID, token.Bootstrap.FleetWide, token.Bootstrap.NeedsApproval, token.OwnerName
		var fresh bool
		if c, fresh, err = ks.clusters.Found(ctx, f); err != nil {
			return err
		}
		if fresh {
			if err := ks.use(ctx, token); err != nil {
				return refusedToken(err)
			}
		}
		made, err = ks.fixTo(ctx, c, token)
		return err
	})
	return c, made, err
}

// fixTo makes the token of a cluster, in place of those before. It ends with the token that
// allows the cluster.
func (ks *Keys) fixTo(ctx context.Context, c Enrolled, token identity.Token) (identity.CreatedToken, error) {
	if _, err := ks.EndBootstrapTokens(ctx, c.ClusterID, false); err != nil {
		return identity.CreatedToken{}, err
	}
	by := identity.Principal{Kind: token.OwnerKind, ID: token.OwnerID, Name: token.OwnerName, TokenID: token.ID, TokenExpiresAt: token.ExpiresAt}
	return ks.CreateBootstrapToken(ctx, by, BootstrapRequest{
		ProjectID: token.Bootstrap.ProjectID, Project: token.Bootstrap.Project, ClusterID: c.ClusterID, ClusterName: c.Name,
	})
}

// refusedToken is an error about a token that the caller sent, and not about the caller's own.
func refusedToken(err error) error {
	if errcode.Is(err, errcode.Unauthorized) {
		return errcode.New(errcode.Forbidden, "%s", errcode.Message(err))
	}
	return err
}
