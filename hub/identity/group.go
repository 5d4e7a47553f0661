package identity

import (
	"context"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

const (
	// maxGroups limits the groups of the hub.
	maxGroups = 10_000
	// maxDescription limits a group's description, in bytes.
	maxDescription = 1000
)

func checkGroupName(name string) error {
	if rule.Group.Valid(name) {
		return nil
	}
	return errcode.New(errcode.Invalid, "name: %.80q is not a valid group name; use letters, digits and . _ / @ + - and no colon: names with one, such as system:masters or kubeadm:cluster-admins, are others' (an agent puts oidc: or the like before all with --proxy-prefix)", name)
}

// groups lists and changes groups and who is in them.
type groups struct {
	*changes
	store   GroupStore
	members MemberStore
	users   *users
}

// CreateGroup adds an empty group. One that exists is Conflict, unless the caller takes
// it over as it is. Invalid.
func (gs *groups) CreateGroup(ctx context.Context, by, name, description string) (Group, error) {
	if err := checkGroupName(name); err != nil && !managed.CallerOf(ctx).TakeOver {
		return Group{}, err
	}
	if len(description) > maxDescription {
		return Group{}, errcode.New(errcode.Invalid, "description: has more than %d bytes", maxDescription)
	}
	g := Group{ID: NewID("grp_"), Name: name, Description: description, ManagedBy: managed.Created(ctx), CreatedAt: gs.now()}
	err := gs.apply(ctx, func(ctx context.Context) (changed, error) {
		if have, found, err := gs.takeOver(ctx, name); found || err != nil {
			g = have
			return changed{}, err
		}
		if err := checkGroupName(name); err != nil {
			return changed{}, err
		}
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

// takeOver makes the caller the manager of a group that exists, if the caller takes
// over, and reports whether there is one.
func (gs *groups) takeOver(ctx context.Context, name string) (Group, bool, error) {
	if !managed.CallerOf(ctx).TakeOver {
		return Group{}, false, nil
	}
	g, err := gs.store.GroupByName(ctx, name)
	if errcode.Is(err, errcode.NotFound) {
		return g, false, nil
	}
	if err == nil {
		g.ManagedBy, err = managed.Write(ctx, "group "+name, g.ManagedBy, false)
	}
	if err != nil {
		return g, true, err
	}
	return g, true, gs.store.ManageGroup(ctx, g)
}

// Groups returns all groups in order of name.
func (gs *groups) Groups(ctx context.Context) ([]Group, error) {
	return gs.access.store.Groups(ctx, nil)
}

// GroupMembers returns a group and its members in order of name, each with its
// memberships by the id of the user.
func (gs *groups) GroupMembers(ctx context.Context, name string) (Group, []Person, map[string][]Member, error) {
	g, err := gs.store.GroupByName(ctx, name)
	if err != nil {
		return g, nil, nil, err
	}
	members, err := gs.members.Members(ctx, g.ID)
	if err != nil {
		return g, nil, nil, err
	}
	ids, sources := []string{}, map[string][]Member{}
	for _, m := range members {
		if sources[m.UserID] == nil {
			ids = append(ids, m.UserID)
		}
		sources[m.UserID] = append(sources[m.UserID], m)
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
		if _, err := managed.Write(ctx, "group "+name, g.ManagedBy, true); err != nil {
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
	return gs.changeMember(ctx, by, group, user, "group.member_added", func(ctx context.Context, m Member) (bool, error) {
		have, found, err := gs.membership(ctx, m)
		if err != nil {
			return false, err
		}
		if !found {
			m.ManagedBy = managed.Created(ctx)
			return gs.members.PutMember(ctx, m)
		}
		before := have.ManagedBy
		if have.ManagedBy, err = managed.Write(ctx, user+" in group "+group, before, false); err != nil || have.ManagedBy == before {
			return false, err
		}
		if _, err := gs.members.DeleteMember(ctx, have); err != nil {
			return false, err
		}
		return gs.members.PutMember(ctx, have)
	})
}

// membership returns the one of a user in a group that was added by hand.
func (gs *groups) membership(ctx context.Context, m Member) (Member, bool, error) {
	all, err := gs.members.MembershipsOf(ctx, m.UserID, m.Source)
	i := slices.IndexFunc(all, func(one Member) bool { return one.GroupID == m.GroupID })
	if err != nil || i < 0 {
		return m, false, err
	}
	return all[i], true, nil
}

// RemoveMember removes a membership that was added by hand. NotFound when there
// is none.
func (gs *groups) RemoveMember(ctx context.Context, by, group, user string) error {
	return gs.changeMember(ctx, by, group, user, "group.member_removed", func(ctx context.Context, m Member) (bool, error) {
		have, was, err := gs.membership(ctx, m)
		if err == nil && !was {
			return false, errcode.New(errcode.NotFound, "%s was not added to group %q by hand; remove a membership that comes from a login provider at the provider, and it ends at the user's next login", user, group)
		}
		if err == nil {
			_, err = managed.Write(ctx, user+" in group "+group, have.ManagedBy, true)
		}
		if err != nil {
			return false, err
		}
		return gs.members.DeleteMember(ctx, have)
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
