package accounts

import (
	"context"
	"encoding/hex"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	// The owner's kind and rights are read from the user, so that a token never
	// keeps rights that its owner lost.
	tokenTable = rows.Of("tokens t", func(c *rows.Columns, t *identity.Token) {
		rows.Hex(c, "hash", &t.Hash)
		rows.Sparse(c, "scopes", &t.Scopes, "null")
		rows.Sparse(c, "bootstrap", &t.Bootstrap, "null")
		rows.Sparse(c, "origin", &t.Origin, "null")
		rows.Col(c, "COALESCE(u.kind, '')", &t.OwnerKind)
		rows.Col(c, "COALESCE(u.admin, 0)", &t.OwnerAdmin)
		rows.Fields(c, t)
	})
	selectTokens = tokenTable.Select() + "LEFT JOIN users u ON u.id = t.owner_id "
	insertToken  = tokenTable.All().Insert("")
	updateToken  = tokenTable.Only("id", "hash", "bootstrap").Update("id")
)

// InsertToken implements identity.TokenStore.
func (s *tokenRows) InsertToken(ctx context.Context, t identity.Token) error {
	_, err := insertToken.ExecOne(ctx, s.db, &t)
	return err
}

// UpdateToken implements identity.TokenStore.
func (s *tokenRows) UpdateToken(ctx context.Context, t identity.Token) error {
	return updateToken.ExecElse(ctx, s.db, noToken(t.ID), &t)
}

func noToken(id string) error { return errcode.New(errcode.NotFound, "token %s does not exist", id) }

// DeleteTokens implements identity.TokenStore.
func (s *tokenRows) DeleteTokens(ctx context.Context, ids []string) error {
	return query.Chunks(ids, func(args []any) error {
		_, err := s.db.Exec(ctx, "DELETE FROM tokens WHERE id IN ("+query.Placeholders(1, len(args))+")", args...)
		return err
	})
}

// DeleteExpiredTokens implements identity.UseStore.
func (s *tokenRows) DeleteExpiredTokens(ctx context.Context, before int64) error {
	_, err := s.db.Exec(ctx, "DELETE FROM tokens WHERE expires_at > 0 AND expires_at < $1", before)
	return err
}

// Token implements identity.TokenStore.
func (s *tokenRows) Token(ctx context.Context, id string) (identity.Token, error) {
	return query.Need(ctx, s.db, noToken(id), tokenTable.Reader(), selectTokens+"WHERE t.id = $1", id)
}

// TokenByHash implements identity.TokenReader.
func (s *tokenRows) TokenByHash(ctx context.Context, hash []byte) (identity.Token, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "the token does not exist"), tokenTable.Reader(), selectTokens+"WHERE t.hash = $1", hex.EncodeToString(hash))
}

// TokensByID implements identity.TokenReader.
func (s *tokenRows) TokensByID(ctx context.Context, ids []string) (all []identity.Token, err error) {
	err = query.Chunks(ids, func(args []any) error {
		part, err := query.All(ctx, s.db, tokenTable.Reader(), selectTokens+"WHERE t.id IN ("+query.Placeholders(1, len(args))+")", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// Tokens implements identity.TokenReader.
func (s *tokenRows) Tokens(ctx context.Context, ownerID string) ([]identity.Token, error) {
	return query.All(ctx, s.db, tokenTable.Reader(), selectTokens+`WHERE t.kind IN ('api', 'bootstrap', 'cli', 'federated') AND ($1 = '' OR t.owner_id = $1)
		ORDER BY t.created_at DESC, t.id LIMIT 10000`, ownerID)
}

// endingTokens is what EndingTokens reads, by an index of API tokens alone.
var endingTokens = selectTokens + `WHERE t.kind = 'api' AND t.expires_at > $1 AND t.expires_at <= $2 AND t.expires_at - t.created_at >= $3 AND u.kind = 'service_account'
	ORDER BY t.expires_at, t.id LIMIT 50`

// EndingTokens implements identity.UseStore.
func (s *tokenRows) EndingTokens(ctx context.Context, after, until, life int64) ([]identity.Token, error) {
	return query.All(ctx, s.db, tokenTable.Reader(), endingTokens, after, until, life)
}

// EachToken implements identity.TokenReader.
func (s *tokenRows) EachToken(ctx context.Context, now int64, fn func(identity.Token) error) error {
	return query.Stream(ctx, s.db, tokenTable.Reader(), fn, selectTokens+"WHERE t.expires_at = 0 OR t.expires_at > $1", now)
}

// ClusterTokens implements identity.UseStore.
func (s *tokenRows) ClusterTokens(ctx context.Context, clusterID string) ([]identity.Token, error) {
	return query.All(ctx, s.db, tokenTable.Reader(), selectTokens+"WHERE t.cluster_id = $1 AND t.cluster_id <> '' ORDER BY t.created_at DESC, t.id", clusterID)
}

// TouchTokens implements identity.UseStore.
func (s *tokenRows) TouchTokens(ctx context.Context, at map[string]int64) error {
	for id, used := range at {
		if _, err := s.db.Exec(ctx, "UPDATE tokens SET last_used_at = $1 WHERE id = $2 AND last_used_at < $1", used, id); err != nil {
			return err
		}
	}
	return nil
}
