package store

import (
	"context"
	"slices"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// ofIDs runs a query with " WHERE column IN (…)" and its order: once for nil,
// which means all rows, otherwise in batches of ids.
func ofIDs[T any](ctx context.Context, s *Store, take func(scan) (T, error), query, column, order string, ids []string) (all []T, err error) {
	if ids == nil {
		return rowsOf(ctx, s, take, query+order)
	}
	err = chunks(ids, func(args []any) error {
		part, err := rowsOf(ctx, s, take, query+"WHERE "+column+" IN ("+placeholders(1, len(args))+")"+order, args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// People implements identity.Store.
func (s *Store) People(ctx context.Context, ids []string) ([]identity.Person, error) {
	users, err := ofIDs(ctx, s, scanUser, userColumns, "id", " ORDER BY name", ids)
	if err != nil {
		return nil, err
	}
	members, err := ofIDs(ctx, s, scanMember, memberColumns, "user_id", " ORDER BY group_id", ids)
	if err != nil {
		return nil, err
	}
	groups := map[string][]string{}
	for _, m := range members {
		if of := groups[m.UserID]; len(of) == 0 || of[len(of)-1] != m.GroupID {
			groups[m.UserID] = append(of, m.GroupID)
		}
	}
	people := make([]identity.Person, len(users))
	for i, u := range users {
		people[i] = identity.Person{User: u, Groups: groups[u.ID]}
	}
	return people, nil
}

// UpdateUser implements identity.Store.
func (s *Store) UpdateUser(ctx context.Context, u identity.User) error {
	changed, err := s.execOne(ctx, "UPDATE users SET admin = $1 WHERE id = $2", u.Admin, u.ID)
	if err == nil && !changed {
		return errcode.New(errcode.NotFound, "user %s does not exist", u.ID)
	}
	return err
}

// DeleteUser implements identity.Store.
func (s *Store) DeleteUser(ctx context.Context, id string) error {
	for _, statement := range []string{
		"DELETE FROM group_members WHERE user_id = $1",
		"DELETE FROM bindings WHERE subject_id = $1",
		"DELETE FROM login_subjects WHERE user_id = $1",
		"DELETE FROM login_passwords WHERE user_id = $1",
		"DELETE FROM login_passkeys WHERE user_id = $1",
		"DELETE FROM login_sessions WHERE user_id = $1",
		"DELETE FROM users WHERE id = $1",
	} {
		if _, err := s.exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}

// OwnedTokens implements identity.Store.
func (s *Store) OwnedTokens(ctx context.Context, ownerID string) ([]identity.Token, error) {
	return rowsOf(ctx, s, scanToken, tokenColumns+"WHERE t.owner_id = $1 AND t.owner_id <> ''", ownerID)
}

// CountAdmins implements identity.Store.
func (s *Store) CountAdmins(ctx context.Context) (int, error) {
	n, _, err := rowOf(ctx, s, value[int], "SELECT count(*) FROM users WHERE admin <> 0 AND kind = $1", identity.KindUser)
	return n, err
}

const groupColumns = `SELECT id, name, description, created_at,
	(SELECT count(DISTINCT m.user_id) FROM group_members m WHERE m.group_id = user_groups.id) FROM user_groups `

func scanGroup(row scan) (g identity.Group, err error) {
	err = row(&g.ID, &g.Name, &g.Description, &g.CreatedAt, &g.Members)
	return g, err
}

// Groups implements identity.Store.
func (s *Store) Groups(ctx context.Context, ids []string) ([]identity.Group, error) {
	return ofIDs(ctx, s, scanGroup, groupColumns, "id", " ORDER BY name", ids)
}

// GroupByName implements identity.Store.
func (s *Store) GroupByName(ctx context.Context, name string) (identity.Group, error) {
	g, found, err := rowOf(ctx, s, scanGroup, groupColumns+"WHERE name = $1", name)
	if err == nil && !found {
		return g, errcode.New(errcode.NotFound, "group %.80q does not exist; axle groups list shows the existing ones", name)
	}
	return g, err
}

// InsertGroup implements identity.Store.
func (s *Store) InsertGroup(ctx context.Context, g identity.Group) error {
	inserted, err := s.execOne(ctx, `INSERT INTO user_groups (id, name, description, created_at)
		VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, g.ID, g.Name, g.Description, g.CreatedAt)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "group %q exists already", g.Name)
	}
	return err
}

// DeleteGroup implements identity.Store.
func (s *Store) DeleteGroup(ctx context.Context, id string) error {
	for _, statement := range []string{
		"DELETE FROM group_members WHERE group_id = $1",
		"DELETE FROM bindings WHERE subject_id = $1",
		"DELETE FROM user_groups WHERE id = $1",
	} {
		if _, err := s.exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}

const memberColumns = "SELECT group_id, user_id, source FROM group_members "

func scanMember(row scan) (m identity.Member, err error) {
	err = row(&m.GroupID, &m.UserID, &m.Source)
	return m, err
}

// Members implements identity.Store.
func (s *Store) Members(ctx context.Context, groupID string) ([]identity.Member, error) {
	return rowsOf(ctx, s, scanMember, memberColumns+"WHERE group_id = $1 ORDER BY user_id, source", groupID)
}

// MembershipsOf implements identity.Store.
func (s *Store) MembershipsOf(ctx context.Context, userID, source string) ([]identity.Member, error) {
	return rowsOf(ctx, s, scanMember, memberColumns+"WHERE user_id = $1 AND source = $2 ORDER BY group_id", userID, source)
}

// PutMember implements identity.Store.
func (s *Store) PutMember(ctx context.Context, m identity.Member) (bool, error) {
	return s.execOne(ctx, `INSERT INTO group_members (group_id, user_id, source) VALUES ($1, $2, $3)
		ON CONFLICT DO NOTHING`, m.GroupID, m.UserID, m.Source)
}

// DeleteMember implements identity.Store.
func (s *Store) DeleteMember(ctx context.Context, m identity.Member) (bool, error) {
	return s.execOne(ctx, "DELETE FROM group_members WHERE group_id = $1 AND user_id = $2 AND source = $3", m.GroupID, m.UserID, m.Source)
}

const bindingColumns = `SELECT b.id, b.subject_kind, b.subject_id, COALESCE(u.name, g.name, ''), b.action, b.level, b.object_id,
	COALESCE(p.name, c.name, sc.name || '/' || s.name, ''), b.created_at, b.created_by
	FROM bindings b LEFT JOIN users u ON u.id = b.subject_id LEFT JOIN user_groups g ON g.id = b.subject_id
	LEFT JOIN projects p ON b.level = 'project' AND p.id = b.object_id
	LEFT JOIN clusters c ON b.level = 'cluster' AND c.id = b.object_id
	LEFT JOIN services s ON b.level = 'service' AND s.id = b.object_id
	LEFT JOIN clusters sc ON sc.id = s.cluster_id `

func scanBinding(row scan) (b identity.Binding, err error) {
	err = row(&b.ID, &b.SubjectKind, &b.SubjectID, &b.Subject, &b.Action, &b.Level, &b.ObjectID, &b.Object, &b.CreatedAt, &b.CreatedBy)
	return b, err
}

// Bindings implements identity.Store.
func (s *Store) Bindings(ctx context.Context, subjectIDs []string) ([]identity.Binding, error) {
	all, err := ofIDs(ctx, s, scanBinding, bindingColumns, "b.subject_id", " ORDER BY b.created_at, b.id", subjectIDs)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b identity.Binding) int { return int(a.CreatedAt - b.CreatedAt) })
	return all, nil
}

// InsertBinding implements identity.Store.
func (s *Store) InsertBinding(ctx context.Context, b identity.Binding) (bool, error) {
	return s.execOne(ctx, `INSERT INTO bindings (id, subject_kind, subject_id, action, level, object_id, created_at, created_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
		b.ID, b.SubjectKind, b.SubjectID, b.Action, b.Level, b.ObjectID, b.CreatedAt, b.CreatedBy)
}

// DeleteBinding implements identity.Store.
func (s *Store) DeleteBinding(ctx context.Context, id string) error {
	_, err := s.exec(ctx, "DELETE FROM bindings WHERE id = $1", id)
	return err
}

// StaleBindings implements identity.Store.
func (s *Store) StaleBindings(ctx context.Context, limit int) ([]identity.Binding, error) {
	return rowsOf(ctx, s, scanBinding, bindingColumns+`WHERE COALESCE(u.name, g.name, '') = ''
		OR b.level = 'project' AND p.id IS NULL OR b.level = 'cluster' AND c.id IS NULL OR b.level = 'service' AND s.id IS NULL
		ORDER BY b.id LIMIT $1`, limit)
}
