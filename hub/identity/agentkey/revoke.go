package agentkey

import (
	"context"
	"fmt"

	"github.com/axle-cd/axle/hub/identity"
)

// RevokeCluster ends every credential of a cluster. It may be repeated.
func (ks *Keys) RevokeCluster(ctx context.Context, clusterID string) error {
	return ks.RevokeClusterWith(ctx, clusterID, func(context.Context) error { return nil })
}

// RevokeClusterWith ends every credential of a cluster in one transaction with
// also, which deletes the cluster: a kill leaves both or neither. An error of
// also is returned as it is.
func (ks *Keys) RevokeClusterWith(ctx context.Context, clusterID string, also func(ctx context.Context) error) error {
	var ended []identity.Token
	err := ks.writer.Write(ctx, func(ctx context.Context) (err error) {
		if err := also(ctx); err != nil {
			return err
		}
		if ended, err = ks.endCredentials(ctx, clusterID); err != nil {
			return fmt.Errorf("revoke the credentials of cluster %s: %w", clusterID, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	ks.credentials.Forget(ended...)
	ks.boots.Delete(clusterID)
	return nil
}

// endCredentials deletes the tokens and the key of a cluster in the
// transaction of the context and returns the tokens.
func (ks *Keys) endCredentials(ctx context.Context, clusterID string) ([]identity.Token, error) {
	tokens, err := ks.stores.Tokens.ClusterTokens(ctx, clusterID)
	if err != nil {
		return nil, err
	}
	if err := ks.credentials.Delete(ctx, tokens...); err != nil {
		return nil, err
	}
	return tokens, ks.stores.Keys.DeleteAgentKey(ctx, clusterID)
}
