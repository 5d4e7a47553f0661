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

// groups lists and changes groups and who is in them.
type groups struct {
	*changes
	store   GroupStore
	members MemberStore
	users   *users
}

// CreateGroup adds an empty group. Invalid, Conflict.
func (gs *groups) CreateGroup(ctx context.Context, by, name, description string) (Group, error) {
	if !groupName.MatchString(name) || strings.HasSuffix(name, " ") || reserved(name) {
		return Group{}, errcode.New(errcode.Invalid, "name: %.80q is not a valid group name; use letters, digits and . _ : / @ + - and begin neither with system: nor with axle:", name)
	}
	if len(description) > maxDescription {
		return Group{}, errcode.New(errcode.Invalid, "description: has more than %d bytes", maxDescription)
	}
	g := Group{ID: NewID("grp_"), Name: name, Description: description, CreatedAt: gs.now()}
	err := gs.apply(ctx, func(ctx context.Context) (changed, error) {
		all, err := gs.access.store.Groups(ctx, nil)
		if err != nil {
			return changed{}, err
		}
		if len(all) >= maxGroups {
			return changed{}, errcode.New(errcode.Exhausted, "the hub has %d groups, which is its limit; delete some first", len(all))
		}
		if err := gs.store.InsertGroup(ctx, g); err != nil {
			return changed{}, err
		}
		return changed{groups: []string{g.ID}}, event.Record(ctx, event.Entry{Kind: "group.created", Object: "group " + name, By: by})
	})
	return g, err
}

// Groups returns all groups in order of name.
func (gs *groups) Groups(ctx context.Context) ([]Group, error) {
	return gs.access.store.Groups(ctx, nil)
}

// GroupMembers returns a group and its members in order of name, each with the
// source of the membership.
func (gs *groups) GroupMembers(ctx context.Context, name string) (Group, []Person, map[string][]string, error) {
	g, err := gs.store.GroupByName(ctx, name)
	if err != nil {
		return g, nil, nil, err
	}
	members, err := gs.members.Members(ctx, g.ID)
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
	people, err := gs.access.store.People(ctx, ids)
	slices.SortFunc(people, func(a, b Person) int { return strings.Compare(a.Name, b.Name) })
	return g, people, sources, err
}

// DeleteGroup removes a group with its bindings.
func (gs *groups) DeleteGroup(ctx context.Context, by, name string) error {
	return gs.apply(ctx, func(ctx context.Context) (changed, error) {
		g, err := gs.store.GroupByName(ctx, name)
		if err != nil {
			return changed{}, err
		}
		members, err := gs.members.Members(ctx, g.ID)
		if err != nil {
			return changed{}, err
		}
		what := changed{groups: []string{g.ID}}
		for _, m := range members {
			what.users = append(what.users, m.UserID)
		}
		if err := gs.store.DeleteGroup(ctx, g.ID); err != nil {
			return changed{}, err
		}
		return what, event.Record(ctx, event.Entry{Kind: "group.deleted", Object: "group " + name, By: by})
	})
}

// AddMember puts a user or service account into a group by hand. It may be repeated.
func (gs *groups) AddMember(ctx context.Context, by, group, user string) error {
	return gs.changeMember(ctx, by, group, user, "group.member_added", gs.members.PutMember)
}

// RemoveMember removes a membership that was added by hand. NotFound when there
// is none.
func (gs *groups) RemoveMember(ctx context.Context, by, group, user string) error {
	return gs.changeMember(ctx, by, group, user, "group.member_removed", func(ctx context.Context, m Member) (bool, error) {
		was, err := gs.members.DeleteMember(ctx, m)
		if err == nil && !was {
			return false, errcode.New(errcode.NotFound, "%s was not added to group %q by hand; remove a membership that comes from a login provider at the provider, and it ends at the user's next login", user, group)
		}
		return was, err
	})
}

func (gs *groups) changeMember(ctx context.Context, by, group, user, kind string, change func(context.Context, Member) (bool, error)) error {
	return gs.apply(ctx, func(ctx context.Context) (changed, error) {
		g, err := gs.store.GroupByName(ctx, group)
		if err != nil {
			return changed{}, err
		}
		u, err := gs.users.UserByName(ctx, user)
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
