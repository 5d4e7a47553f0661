package accounts

import (
	"context"
	"encoding/hex"

	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	agentKeyTable = rows.Of("agent_keys", func(c *rows.Columns, k *agentkey.Key) {
		rows.Hex(c, "public_key", &k.PublicKey)
		rows.JSON(c, "past_boots", &k.PastBoots)
		rows.Fields(c, k)
	})
	selectAgentKeys = agentKeyTable.Select()
	putAgentKey     = agentKeyTable.All().Upsert("cluster_id")
)

// AgentKey implements agentkey.KeyStore.
func (s *agentKeyRows) AgentKey(ctx context.Context, clusterID string) (agentkey.Key, error) {
	return s.agentKey(ctx, "WHERE cluster_id = $1", clusterID)
}

// AgentKeyByPublicKey implements agentkey.KeyStore.
func (s *agentKeyRows) AgentKeyByPublicKey(ctx context.Context, publicKey []byte) (agentkey.Key, error) {
	return s.agentKey(ctx, "WHERE public_key = $1", hex.EncodeToString(publicKey))
}

func (s *agentKeyRows) agentKey(ctx context.Context, where, key string) (agentkey.Key, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "no agent is registered under %.80s", key), agentKeyTable.Reader(), selectAgentKeys+where, key)
}

// PutAgentKey implements agentkey.KeyStore.
func (s *agentKeyRows) PutAgentKey(ctx context.Context, k agentkey.Key) error {
	_, err := putAgentKey.ExecOne(ctx, s.db, &k)
	if sqldb.Duplicate(err) {
		return errcode.New(errcode.Conflict, "another cluster is registered with this agent's key")
	}
	return err
}

// DeleteAgentKey implements agentkey.KeyStore.
func (s *agentKeyRows) DeleteAgentKey(ctx context.Context, clusterID string) error {
	_, err := s.db.Exec(ctx, "DELETE FROM agent_keys WHERE cluster_id = $1", clusterID)
	return err
}

// UseNonce implements agentkey.KeyStore.
func (s *agentKeyRows) UseNonce(ctx context.Context, nonce []byte, at, forget int64) error {
	if _, err := s.db.Exec(ctx, "DELETE FROM renew_nonces WHERE used_at < $1", forget); err != nil {
		return err
	}
	return query.ExecElse(ctx, s.db, errcode.New(errcode.Conflict, "the nonce was used before"), "INSERT INTO renew_nonces (nonce, used_at) VALUES ($1, $2) ON CONFLICT DO NOTHING", hex.EncodeToString(nonce), at)
}
