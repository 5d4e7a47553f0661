package agentkey

import (
	"context"
	"fmt"
	"slices"

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

// EndBootstrapTokens ends the bootstrap tokens that are made for a cluster, in the
// transaction of the context, and returns their number; a plan only counts them.
func (ks *Keys) EndBootstrapTokens(ctx context.Context, clusterID string, plan bool) (int, error) {
	tokens, err := ks.stores.Tokens.ClusterTokens(ctx, clusterID)
	if err != nil {
		return 0, err
	}
	tokens = slices.DeleteFunc(tokens, func(t identity.Token) bool { return t.Kind != identity.TokenBootstrap })
	if plan || len(tokens) == 0 {
		return len(tokens), nil
	}
	if err := ks.credentials.Delete(ctx, tokens...); err != nil {
		return 0, err
	}
	ks.credentials.Forget(tokens...)
	return len(tokens), nil
}
