package declare

import (
	"context"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// row is one row of what has rows: a binding, or a membership. key is what is declared.
type row struct {
	key string
	by  *hubv1.Manager
}

// judge is the object that rows make up: that of its manager if it has one of the rows,
// that of others if they have all that are wanted, and otherwise none.
func judge(id string, rows []row, wanted []string, by *hubv1.Manager) *Found {
	f := &Found{ID: id, rows: rows}
	var theirs *hubv1.Manager
	absent := false
	for _, key := range wanted {
		i := slices.IndexFunc(rows, func(r row) bool { return r.key == key })
		if i < 0 {
			absent = true
		} else if !proto.Equal(rows[i].by, by) && (theirs == nil || Declares(rows[i].by)) {
			theirs = rows[i].by
		}
	}
	switch {
	case slices.ContainsFunc(rows, func(r row) bool { return proto.Equal(r.by, by) }):
		f.By = by
	case absent:
		return nil
	default:
		f.By = theirs
	}
	return f
}

// differs returns what is missing among rows, and what a manager has that is not wanted.
// With a take-over, what others have is missing.
func differs(have *Found, wanted []string, m *hubv1.Management) (missing, extra []string) {
	var rows []row
	if have != nil {
		rows = have.rows
	}
	for _, key := range wanted {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.key == key && (!m.GetTakeOver() || proto.Equal(r.by, m.GetBy())) }) {
			missing = append(missing, key)
		}
	}
	for _, r := range rows {
		if proto.Equal(r.by, m.GetBy()) && Declares(m.GetBy()) && !slices.Contains(wanted, r.key) {
			extra = append(extra, r.key)
		}
	}
	return missing, extra
}

// bindings are the bindings of a place.
type bindings struct{}

func bindingKey(kind, subject, action string) string { return kind + "\n" + subject + "\n" + action }

func wantedBindings(item *manifest.Item) (keys []string) {
	for _, one := range item.Set {
		r := one.(*hubv1.CreateBindingRequest)
		for _, action := range r.GetActions() {
			keys = append(keys, bindingKey(r.GetSubjectKind(), r.GetSubject(), action))
		}
	}
	return keys
}

// idOf is the place of bindings as the hub names it.
func idOf(level, object string) string { return strings.TrimSuffix(level+"/"+object, "/") }

// placeOf is the place of an ID or of the name of an item.
func placeOf(id string) *hubv1.Place {
	level, object, _ := strings.Cut(id, "/")
	switch level {
	case "project":
		return &hubv1.Place{Project: object}
	case "cluster":
		return &hubv1.Place{Cluster: object}
	case "service":
		cluster, service, _ := strings.Cut(object, "/")
		return &hubv1.Place{Cluster: cluster, Service: service}
	}
	return &hubv1.Place{}
}

func bindingsAt(ctx context.Context, c *sdk.Client, place *hubv1.Place) (id string, rows []row, _ error) {
	list, err := c.Bindings.List(ctx, connect.NewRequest(&hubv1.ListBindingsRequest{At: place}))
	if err != nil {
		return "", nil, err
	}
	for _, b := range list.Msg.GetBindings() {
		id = idOf(b.GetLevel(), b.GetObject())
		rows = append(rows, row{bindingKey(b.GetSubjectKind(), b.GetSubject(), b.GetAction()), b.GetManagedBy()})
	}
	return id, rows, nil
}

// Read implements Kind.
func (bindings) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	id, rows, err := bindingsAt(ctx, c, placeOf(item.Name))
	if err != nil {
		return nil, err
	}
	return judge(id, rows, wantedBindings(item), item.Management.GetBy()), nil
}

// Same implements Kind.
func (bindings) Same(_ *sdk.Client, item *manifest.Item, have *Found) bool {
	missing, extra := differs(have, wantedBindings(item), item.Management)
	return len(missing)+len(extra) == 0
}

// Write implements Kind.
func (b bindings) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	if have == nil {
		// Nothing is its manager's yet; what others have stays theirs.
		_, rows, err := bindingsAt(ctx, c, placeOf(item.Name))
		if err != nil {
			return nil, err
		}
		have = &Found{rows: rows}
	}
	missing, extra := differs(have, wantedBindings(item), item.Management)
	for _, one := range item.Set {
		r := proto.CloneOf(one.(*hubv1.CreateBindingRequest))
		r.Actions = slices.DeleteFunc(r.GetActions(), func(action string) bool {
			return !slices.Contains(missing, bindingKey(r.GetSubjectKind(), r.GetSubject(), action))
		})
		if r.Management = item.Management; len(r.GetActions()) == 0 {
			continue
		}
		if _, err := c.Bindings.Create(ctx, connect.NewRequest(r)); err != nil {
			return nil, err
		}
	}
	if err := unbind(ctx, c, placeOf(item.Name), extra, item.Management.GetBy()); err != nil {
		return nil, err
	}
	return b.Read(ctx, c, item)
}

func unbind(ctx context.Context, c *sdk.Client, place *hubv1.Place, keys []string, by *hubv1.Manager) error {
	for _, key := range keys {
		part := strings.SplitN(key, "\n", 3)
		_, err := c.Bindings.Delete(ctx, connect.NewRequest(&hubv1.DeleteBindingRequest{
			SubjectKind: part[0], Subject: part[1], Actions: part[2:], Place: place, Management: &hubv1.Management{By: by},
		}))
		if err := ignoreNotFound(err); err != nil {
			return err
		}
	}
	return nil
}

// Remove implements Kind.
func (bindings) Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	_, rows, err := bindingsAt(ctx, c, placeOf(name))
	if err != nil {
		return ignoreNotFound(err)
	}
	_, own := differs(&Found{rows: rows}, nil, &hubv1.Management{By: by})
	return unbind(ctx, c, placeOf(name), own, by)
}

// Managed implements Kind.
func (bindings) Managed(ctx context.Context, c *sdk.Client, by *hubv1.Manager) (ids []string, _ error) {
	list, err := c.Bindings.List(ctx, connect.NewRequest(&hubv1.ListBindingsRequest{}))
	if err != nil {
		return nil, err
	}
	for _, b := range list.Msg.GetBindings() {
		if id := idOf(b.GetLevel(), b.GetObject()); proto.Equal(b.GetManagedBy(), by) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// members are the memberships of a group that people and tools added.
type members struct{}

func wantedMembers(item *manifest.Item) (names []string) {
	for _, one := range item.Set {
		names = append(names, one.(*hubv1.AddMemberRequest).GetUser())
	}
	return names
}

func membersOf(g *hubv1.Group) (rows []row) {
	for _, m := range g.GetMember() {
		if slices.Contains(m.GetSources(), "") {
			rows = append(rows, row{m.GetName(), m.GetManagedBy()})
		}
	}
	return rows
}

// Read implements Kind.
func (members) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	g, err := c.Groups.Get(ctx, connect.NewRequest(&hubv1.GetGroupRequest{Name: item.Name}))
	if err != nil {
		return nil, err
	}
	return judge(item.Name, membersOf(g.Msg), wantedMembers(item), item.Management.GetBy()), nil
}

// Same implements Kind.
func (members) Same(_ *sdk.Client, item *manifest.Item, have *Found) bool {
	missing, extra := differs(have, wantedMembers(item), item.Management)
	return len(missing)+len(extra) == 0
}

// Write implements Kind.
func (m members) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	if have == nil {
		g, err := c.Groups.Get(ctx, connect.NewRequest(&hubv1.GetGroupRequest{Name: item.Name}))
		if err != nil {
			return nil, err
		}
		have = &Found{rows: membersOf(g.Msg)}
	}
	missing, extra := differs(have, wantedMembers(item), item.Management)
	for _, name := range missing {
		_, err := c.Groups.AddMember(ctx, connect.NewRequest(&hubv1.AddMemberRequest{Group: item.Name, User: name, Management: item.Management}))
		if err != nil {
			return nil, err
		}
	}
	if err := leave(ctx, c, item.Name, extra, item.Management.GetBy()); err != nil {
		return nil, err
	}
	return m.Read(ctx, c, item)
}

func leave(ctx context.Context, c *sdk.Client, group string, names []string, by *hubv1.Manager) error {
	for _, name := range names {
		_, err := c.Groups.RemoveMember(ctx, connect.NewRequest(&hubv1.RemoveMemberRequest{Group: group, User: name, Management: &hubv1.Management{By: by}}))
		if err := ignoreNotFound(err); err != nil {
			return err
		}
	}
	return nil
}

// Remove implements Kind.
func (members) Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	g, err := c.Groups.Get(ctx, connect.NewRequest(&hubv1.GetGroupRequest{Name: name}))
	if err != nil {
		return ignoreNotFound(err)
	}
	_, own := differs(&Found{rows: membersOf(g.Msg)}, nil, &hubv1.Management{By: by})
	return leave(ctx, c, name, own, by)
}

// Managed implements Kind.
func (members) Managed(ctx context.Context, c *sdk.Client, by *hubv1.Manager) (names []string, _ error) {
	list, err := c.Groups.List(ctx, connect.NewRequest(&hubv1.ListGroupsRequest{}))
	if err != nil {
		return nil, err
	}
	for _, one := range list.Msg.GetGroups() {
		g, err := c.Groups.Get(ctx, connect.NewRequest(&hubv1.GetGroupRequest{Name: one.GetName()}))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(membersOf(g.Msg), func(r row) bool { return proto.Equal(r.by, by) }) {
			names = append(names, one.GetName())
		}
	}
	return names, nil
}
