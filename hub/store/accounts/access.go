package accounts

import (
	"context"
	"slices"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

// ofIDs runs a query with " WHERE column IN (…)" and its order: once for nil,
// which means all rows, otherwise in batches of ids.
func ofIDs[T any](ctx context.Context, db query.DB, table *rows.Table[T], of ids, chosen []string) (all []T, err error) {
	if chosen == nil {
		return query.All(ctx, db, table.Reader(), of.query+of.order)
	}
	err = query.Chunks(chosen, func(args []any) error {
		part, err := query.All(ctx, db, table.Reader(), of.query+"WHERE "+of.column+" IN ("+query.Placeholders(1, len(args))+")"+of.order, args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// ids is a query of all rows or of some ids.
type ids struct{ query, column, order string }

// People implements identity.AccessReader.
func (s *accessRows) People(ctx context.Context, userIDs []string) ([]identity.Person, error) {
	users, err := ofIDs(ctx, s.db, userTable, ids{selectUsers, "id", " ORDER BY name"}, userIDs)
	if err != nil {
		return nil, err
	}
	members, err := ofIDs(ctx, s.db, memberTable, ids{selectMembers, "user_id", " ORDER BY group_id"}, userIDs)
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

// UpdateUser implements identity.UserStore.
func (s *accessRows) UpdateUser(ctx context.Context, u identity.User) error {
	return updateUser.ExecElse(ctx, s.db, errcode.New(errcode.NotFound, "user %s does not exist", u.ID), &u)
}

// DeleteUser implements identity.UserStore.
func (s *accessRows) DeleteUser(ctx context.Context, id string) error {
	for _, statement := range []string{
		"DELETE FROM group_members WHERE user_id = $1",
		"DELETE FROM bindings WHERE subject_id = $1",
		"DELETE FROM login_subjects WHERE user_id = $1",
		"DELETE FROM login_passwords WHERE user_id = $1",
		"DELETE FROM login_passkeys WHERE user_id = $1",
		"DELETE FROM login_sessions WHERE user_id = $1",
		"DELETE FROM notification_reads WHERE user_id = $1",
		"DELETE FROM oidc_consents WHERE user_id = $1",
		"DELETE FROM users WHERE id = $1",
	} {
		if _, err := s.db.Exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}

// OwnedTokens implements identity.TokenStore.
func (s *accessRows) OwnedTokens(ctx context.Context, ownerID string) ([]identity.Token, error) {
	return query.All(ctx, s.db, tokenTable.Reader(), selectTokens+"WHERE t.owner_id = $1 AND t.owner_id <> ''", ownerID)
}

// CountAdmins implements identity.UserStore.
func (s *accessRows) CountAdmins(ctx context.Context) (int, error) {
	n, _, err := query.One(ctx, s.db, query.Value[int], "SELECT count(*) FROM users WHERE admin <> 0 AND kind = $1", identity.KindUser)
	return n, err
}

var (
	groupTable = rows.Of("user_groups", func(c *rows.Columns, g *identity.Group) {
		rows.Col(c, "(SELECT count(DISTINCT m.user_id) FROM group_members m WHERE m.group_id = user_groups.id)", &g.Members)
		rows.Fields(c, g)
	})
	selectGroups = groupTable.Select()
	insertGroup  = groupTable.All().Insert("ON CONFLICT DO NOTHING")
	manageGroup  = groupTable.Only("id", "managed_by_tool", "managed_by_id").Update("id")

	memberTable   = rows.Of("group_members", rows.Fields[identity.Member])
	selectMembers = memberTable.Select()
	insertMember  = memberTable.All().Insert("ON CONFLICT DO NOTHING")

	bindingTable = rows.Of("bindings b", func(c *rows.Columns, b *identity.Binding) {
		rows.Col(c, "COALESCE(u.name, g.name, '')", &b.Subject)
		rows.Col(c, "COALESCE(p.name, c.name, sc.name || '/' || s.name, '')", &b.Object)
		rows.Fields(c, b)
	})
	selectBindings = bindingTable.Select() + `LEFT JOIN users u ON u.id = b.subject_id LEFT JOIN user_groups g ON g.id = b.subject_id
	LEFT JOIN projects p ON b.level = 'project' AND p.id = b.object_id
	LEFT JOIN clusters c ON b.level = 'cluster' AND c.id = b.object_id
	LEFT JOIN services s ON b.level = 'service' AND s.id = b.object_id
	LEFT JOIN clusters sc ON sc.id = s.cluster_id `
	// BindingsAt lists those of one object.
	BindingsAt    = selectBindings + "WHERE b.level = $1 AND b.object_id = $2 ORDER BY b.created_at, b.id"
	insertBinding = bindingTable.All().Insert("ON CONFLICT DO NOTHING")
)

// Groups implements identity.AccessReader.
func (s *accessRows) Groups(ctx context.Context, groupIDs []string) ([]identity.Group, error) {
	return ofIDs(ctx, s.db, groupTable, ids{selectGroups, "id", " ORDER BY name"}, groupIDs)
}

// GroupByName implements identity.GroupStore.
func (s *accessRows) GroupByName(ctx context.Context, name string) (identity.Group, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "group %.80q does not exist; axle groups list shows the existing ones", name), groupTable.Reader(), selectGroups+"WHERE name = $1", name)
}

// InsertGroup implements identity.GroupStore.
func (s *accessRows) InsertGroup(ctx context.Context, g identity.Group) error {
	return insertGroup.ExecElse(ctx, s.db, errcode.New(errcode.Conflict, "group %q exists already", g.Name), &g)
}

// ManageGroup implements identity.GroupStore.
func (s *accessRows) ManageGroup(ctx context.Context, g identity.Group) error {
	_, err := manageGroup.ExecOne(ctx, s.db, &g)
	return err
}

// DeleteGroup implements identity.GroupStore.
func (s *accessRows) DeleteGroup(ctx context.Context, id string) error {
	for _, statement := range []string{
		"DELETE FROM group_members WHERE group_id = $1",
		"DELETE FROM bindings WHERE subject_id = $1",
		"DELETE FROM user_groups WHERE id = $1",
	} {
		if _, err := s.db.Exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}

// Members implements identity.MemberStore.
func (s *accessRows) Members(ctx context.Context, groupID string) ([]identity.Member, error) {
	return query.All(ctx, s.db, memberTable.Reader(), selectMembers+"WHERE group_id = $1 ORDER BY user_id, source", groupID)
}

// MembershipsOf implements identity.MemberStore.
func (s *accessRows) MembershipsOf(ctx context.Context, userID, source string) ([]identity.Member, error) {
	return query.All(ctx, s.db, memberTable.Reader(), selectMembers+"WHERE user_id = $1 AND source = $2 ORDER BY group_id", userID, source)
}

// PutMember implements identity.MemberStore.
func (s *accessRows) PutMember(ctx context.Context, m identity.Member) (bool, error) {
	return insertMember.ExecOne(ctx, s.db, &m)
}

// DeleteMember implements identity.MemberStore.
func (s *accessRows) DeleteMember(ctx context.Context, m identity.Member) (bool, error) {
	return query.ExecOne(ctx, s.db, "DELETE FROM group_members WHERE group_id = $1 AND user_id = $2 AND source = $3", m.GroupID, m.UserID, m.Source)
}

// Bindings implements identity.AccessReader.
func (s *accessRows) Bindings(ctx context.Context, subjectIDs []string) ([]identity.Binding, error) {
	all, err := ofIDs(ctx, s.db, bindingTable, ids{selectBindings, "b.subject_id", " ORDER BY b.created_at, b.id"}, subjectIDs)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b identity.Binding) int { return int(a.CreatedAt - b.CreatedAt) })
	return all, nil
}

// BindingsAt implements identity.BindingStore.
func (s *accessRows) BindingsAt(ctx context.Context, level identity.Level, objectID string) ([]identity.Binding, error) {
	return query.All(ctx, s.db, bindingTable.Reader(), BindingsAt, level, objectID)
}

// InsertBinding implements identity.BindingStore.
func (s *accessRows) InsertBinding(ctx context.Context, b identity.Binding) (bool, error) {
	return insertBinding.ExecOne(ctx, s.db, &b)
}

// DeleteBinding implements identity.BindingStore.
func (s *accessRows) DeleteBinding(ctx context.Context, id string) error {
	_, err := s.db.Exec(ctx, "DELETE FROM bindings WHERE id = $1", id)
	return err
}

// StaleBindings implements identity.BindingStore.
func (s *accessRows) StaleBindings(ctx context.Context, limit int) ([]identity.Binding, error) {
	return query.All(ctx, s.db, bindingTable.Reader(), selectBindings+`WHERE COALESCE(u.name, g.name, '') = ''
		OR b.level = 'project' AND p.id IS NULL OR b.level = 'cluster' AND c.id IS NULL OR b.level = 'service' AND s.id IS NULL
		ORDER BY b.id LIMIT $1`, limit)
}
