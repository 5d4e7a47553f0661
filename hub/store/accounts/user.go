package accounts

import (
	"context"
	"strings"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
)

// InsertUser implements identity.UserStore.
func (s *userRows) InsertUser(ctx context.Context, u identity.User) error {
	return insertUser.ExecElse(ctx, s.db, errcode.New(errcode.Conflict, "%s %s exists", strings.ReplaceAll(string(u.Kind), "_", " "), u.Name), &u)
}

var (
	userTable   = rows.Of("users", rows.Fields[identity.User])
	selectUsers = userTable.Select()
	insertUser  = userTable.All().Insert("ON CONFLICT DO NOTHING")
	updateUser  = userTable.Except("kind", "name", "created_at").Update("id")
)

// UserByName implements identity.UserReader.
func (s *userRows) UserByName(ctx context.Context, name string) (identity.User, error) {
	return s.user(ctx, "WHERE name = $1", name)
}

// UserByAddress implements identity.UserReader. Addresses are ASCII, of which both databases
// know the small letters.
func (s *userRows) UserByAddress(ctx context.Context, address string) (identity.User, error) {
	return s.user(ctx, "WHERE lower(name) = $1 ORDER BY name LIMIT 1", email.Lower(address))
}

// User implements identity.UserReader.
func (s *userRows) User(ctx context.Context, id string) (identity.User, error) {
	return s.user(ctx, "WHERE id = $1", id)
}

func (s *userRows) user(ctx context.Context, where, key string) (identity.User, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "user %s does not exist", key), userTable.Reader(), selectUsers+where, key)
}

// CountUsers implements identity.UserStore.
func (s *userRows) CountUsers(ctx context.Context) (int, error) {
	n, _, err := query.One(ctx, s.db, query.Value[int], "SELECT count(*) FROM users")
	return n, err
}

// SigningKeys implements agentkey.SigningKeyStore.
func (s *userRows) SigningKeys(ctx context.Context) ([]agentkey.StoredSigningKey, error) {
	return query.All(ctx, s.db, signingKeyTable.Reader(), selectSigningKeys+"WHERE retired_at = 0 ORDER BY signs_from, id")
}

// RetiredSigningKeys implements agentkey.SigningKeyStore.
func (s *userRows) RetiredSigningKeys(ctx context.Context, since int64) ([]agentkey.StoredSigningKey, error) {
	return query.All(ctx, s.db, signingKeyTable.Reader(), selectSigningKeys+"WHERE retired_at > $1 AND retired_at > 0 ORDER BY signs_from, id", since)
}

var (
	signingKeyTable = rows.Of("signing_keys", func(c *rows.Columns, k *agentkey.StoredSigningKey) {
		rows.Hex(c, "public_key", &k.PublicKey)
		rows.Fields(c, k)
	})
	selectSigningKeys = signingKeyTable.Select()
	insertSigningKey  = signingKeyTable.All().Insert("")
)

// settingLatestKey is the setting with the newest signing key.
const settingLatestKey = "latest_signing_key"

// InsertSigningKey implements agentkey.SigningKeyStore.
func (s *userRows) InsertSigningKey(ctx context.Context, k agentkey.StoredSigningKey) error {
	_, err := insertSigningKey.ExecOne(ctx, s.db, &k)
	if err != nil {
		return err
	}
	// Of two replicas that each saw no key, one must see the other's: agents
	// that registered at one would never trust the other. Both write this row,
	// so the later transaction is retried.
	return s.setSetting(ctx, settingLatestKey, k.ID)
}

// RetireSigningKey implements agentkey.SigningKeyStore.
func (s *userRows) RetireSigningKey(ctx context.Context, id string, at int64) error {
	_, err := s.db.Exec(ctx, "UPDATE signing_keys SET retired_at = $1 WHERE id = $2", at, id)
	return err
}
