package store

import (
	"context"
	"encoding/hex"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

const agentKeyColumns = `SELECT cluster_id, cluster_name, public_key, cluster_uid, token_id, boot_id, past_boots,
	registered_at, conflict_at FROM agent_keys `

func scanAgentKey(row scan) (k identity.AgentKey, err error) {
	var public, boots string
	err = row(&k.ClusterID, &k.ClusterName, &public, &k.ClusterUID, &k.TokenID, &k.BootID, &boots, &k.RegisteredAt, &k.ConflictAt)
	if err != nil {
		return k, err
	}
	if k.PublicKey, err = hex.DecodeString(public); err != nil {
		return k, err
	}
	return k, fromJSON(boots, &k.PastBoots)
}

// AgentKey implements identity.Store.
func (s *Store) AgentKey(ctx context.Context, clusterID string) (identity.AgentKey, error) {
	return s.agentKey(ctx, "WHERE cluster_id = $1", clusterID)
}

// AgentKeyByPublicKey implements identity.Store.
func (s *Store) AgentKeyByPublicKey(ctx context.Context, publicKey []byte) (identity.AgentKey, error) {
	return s.agentKey(ctx, "WHERE public_key = $1", hex.EncodeToString(publicKey))
}

func (s *Store) agentKey(ctx context.Context, where, key string) (identity.AgentKey, error) {
	k, found, err := rowOf(ctx, s, scanAgentKey, agentKeyColumns+where, key)
	if err == nil && !found {
		return k, errcode.New(errcode.NotFound, "no agent is registered under %.80s", key)
	}
	return k, err
}

// PutAgentKey implements identity.Store.
func (s *Store) PutAgentKey(ctx context.Context, k identity.AgentKey) error {
	boots, err := jsonText(k.PastBoots)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, `INSERT INTO agent_keys (cluster_id, cluster_name, public_key, cluster_uid, token_id, boot_id,
		past_boots, registered_at, conflict_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (cluster_id) DO UPDATE SET cluster_name = excluded.cluster_name, public_key = excluded.public_key,
		cluster_uid = excluded.cluster_uid, token_id = excluded.token_id, boot_id = excluded.boot_id,
		past_boots = excluded.past_boots, registered_at = excluded.registered_at, conflict_at = excluded.conflict_at`,
		k.ClusterID, k.ClusterName, hex.EncodeToString(k.PublicKey), k.ClusterUID, k.TokenID, k.BootID, boots, k.RegisteredAt, k.ConflictAt)
	if duplicate(err) {
		return errcode.New(errcode.Conflict, "another cluster is registered with this agent's key")
	}
	return err
}

// DeleteAgentKey implements identity.Store.
func (s *Store) DeleteAgentKey(ctx context.Context, clusterID string) error {
	_, err := s.exec(ctx, "DELETE FROM agent_keys WHERE cluster_id = $1", clusterID)
	return err
}

// UseNonce implements identity.Store.
func (s *Store) UseNonce(ctx context.Context, nonce []byte, at, forget int64) error {
	if _, err := s.exec(ctx, "DELETE FROM renew_nonces WHERE used_at < $1", forget); err != nil {
		return err
	}
	fresh, err := s.execOne(ctx, "INSERT INTO renew_nonces (nonce, used_at) VALUES ($1, $2) ON CONFLICT DO NOTHING", hex.EncodeToString(nonce), at)
	if err == nil && !fresh {
		return errcode.New(errcode.Conflict, "the nonce was used before")
	}
	return err
}
