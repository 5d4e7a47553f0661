package identity

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// maxGroups limits the groups of the hub.
	maxGroups = 10_000
	// maxDescription limits a group's description, in bytes.
	maxDescription = 1000
)

// groupName matches names that are valid in a header, since groups are sent to
// clusters.
var groupName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._:/@+-]{0,198}$`)

// CreateGroup adds an empty group. Invalid, Conflict.
func (d *Directory) CreateGroup(ctx context.Context, by, name, description string) (Group, error) {
	if !groupName.MatchString(name) || strings.HasSuffix(name, " ") || reserved(name) {
		return Group{}, errcode.New(errcode.Invalid, "name: %.80q is not a valid group name; use letters, digits and . _ : / @ + - and begin neither with system: nor with axle:", name)
	}
	if len(description) > maxDescription {
		return Group{}, errcode.New(errcode.Invalid, "description: has more than %d bytes", maxDescription)
	}
	g := Group{ID: newID("grp_"), Name: name, Description: description, CreatedAt: d.now()}
	err := d.changeAccess(ctx, func(ctx context.Context) (changed, error) {
		all, err := d.store.Groups(ctx, nil)
		if err != nil {
			return changed{}, err
		}
		if len(all) >= maxGroups {
			return changed{}, errcode.New(errcode.Exhausted, "the hub has %d groups, which is its limit; delete some first", len(all))
		}
		if err := d.store.InsertGroup(ctx, g); err != nil {
			return changed{}, err
		}
		return changed{groups: []string{g.ID}}, event.Record(ctx, event.Entry{Kind: "group.created", Object: "group " + name, By: by})
	})
	return g, err
}

// Groups returns all groups in order of name.
func (d *Directory) Groups(ctx context.Context) ([]Group, error) { return d.store.Groups(ctx, nil) }

// GroupMembers returns a group and its members in order of name, each with the
// source of the membership.
func (d *Directory) GroupMembers(ctx context.Context, name string) (Group, []Person, map[string][]string, error) {
	g, err := d.store.GroupByName(ctx, name)
	if err != nil {
		return g, nil, nil, err
	}
	members, err := d.store.Members(ctx, g.ID)
	if err != nil {
		return g, nil, nil, err
	}
	ids, sources := []string{}, map[string][]string{}
	for _, m := range members {
		if sources[m.UserID] == nil {
			ids = append(ids, m.UserID)
		}
		sources[m.UserID] = append(sources[m.UserID], m.Source)
	}
	people, err := d.store.People(ctx, ids)
	slices.SortFunc(people, func(a, b Person) int { return strings.Compare(a.Name, b.Name) })
	return g, people, sources, err
}

// DeleteGroup removes a group with its bindings.
func (d *Directory) DeleteGroup(ctx context.Context, by, name string) error {
	return d.changeAccess(ctx, func(ctx context.Context) (changed, error) {
		g, err := d.store.GroupByName(ctx, name)
		if err != nil {
			return changed{}, err
		}
		members, err := d.store.Members(ctx, g.ID)
		if err != nil {
			return changed{}, err
		}
		what := changed{groups: []string{g.ID}}
		for _, m := range members {
			what.users = append(what.users, m.UserID)
		}
		if err := d.store.DeleteGroup(ctx, g.ID); err != nil {
			return changed{}, err
		}
		return what, event.Record(ctx, event.Entry{Kind: "group.deleted", Object: "group " + name, By: by})
	})
}

// AddMember puts a user or service account into a group by hand. It may be repeated.
func (d *Directory) AddMember(ctx context.Context, by, group, user string) error {
	return d.changeMember(ctx, by, group, user, "group.member_added", d.store.PutMember)
}

// RemoveMember removes a membership that was added by hand. NotFound when there
// is none.
func (d *Directory) RemoveMember(ctx context.Context, by, group, user string) error {
	return d.changeMember(ctx, by, group, user, "group.member_removed", func(ctx context.Context, m Member) (bool, error) {
		was, err := d.store.DeleteMember(ctx, m)
		if err == nil && !was {
			return false, errcode.New(errcode.NotFound, "%s was not added to group %q by hand; remove a membership that comes from a login provider at the provider, and it ends at the user's next login", user, group)
		}
		return was, err
	})
}

func (d *Directory) changeMember(ctx context.Context, by, group, user, kind string, change func(context.Context, Member) (bool, error)) error {
	return d.changeAccess(ctx, func(ctx context.Context) (changed, error) {
		g, err := d.store.GroupByName(ctx, group)
		if err != nil {
			return changed{}, err
		}
		u, err := d.UserByName(ctx, user)
		if err != nil {
			return changed{}, err
		}
		did, err := change(ctx, Member{GroupID: g.ID, UserID: u.ID})
		if err != nil || !did {
			return changed{}, err
		}
		return changed{users: []string{u.ID}}, event.Record(ctx, event.Entry{Kind: kind, Object: "group " + g.Name, By: by, Message: u.Name})
	})
}

// SyncGroups sets the memberships that a source gives a user to those of the
// named groups that exist. Names without a group of the hub are ignored, so a
// claim alone never gives access. Memberships from other sources stay. It
// writes only what differs.
func (d *Directory) SyncGroups(ctx context.Context, by, userID, source string, names []string) error {
	if source == "" {
		return errcode.New(errcode.Internal, "memberships without a source can only be set by people")
	}
	return d.changeAccess(ctx, func(ctx context.Context) (changed, error) {
		groups, err := d.store.Groups(ctx, nil)
		if err != nil {
			return changed{}, err
		}
		have, err := d.store.MembershipsOf(ctx, userID, source)
		if err != nil {
			return changed{}, err
		}
		var did []string
		for _, g := range groups {
			m := Member{GroupID: g.ID, UserID: userID, Source: source}
			wanted, present := slices.Contains(names, g.Name), slices.Contains(have, m)
			switch {
			case wanted && !present:
				_, err = d.store.PutMember(ctx, m)
				did = append(did, "+"+g.Name)
			case present && !wanted:
				_, err = d.store.DeleteMember(ctx, m)
				did = append(did, "-"+g.Name)
			}
			if err != nil {
				return changed{}, err
			}
		}
		if len(did) == 0 {
			return changed{}, nil
		}
		return changed{users: []string{userID}}, event.Record(ctx, event.Entry{Kind: "user.groups_changed", Object: "user " + by, By: by, Message: source + ": " + strings.Join(did, ", ")})
	})
}
