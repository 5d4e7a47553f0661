package identity

import (
	"context"
	"fmt"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxBindings limits the bindings of one subject; a subject that needs more
// should be bound to a project or through a group.
const maxBindings = 1000

// boundActions are the actions that bindings can give.
var boundActions = []Action{ActionRead, ActionWrite, ActionCreate, ActionGit}

// bindings lists and changes role bindings.
type bindings struct {
	*changes
	store  BindingStore
	groups GroupStore
	users  *users
}

// NewBinding asks for bindings of one subject on one object.
type NewBinding struct {
	// SubjectKind and Subject name a user by e-mail, a service account or a group.
	SubjectKind Kind
	Subject     string
	Actions     []Action
	Level       Level
	// ObjectID is checked by the caller; Object is its name, for the log.
	ObjectID string
	Object   string
}

// check returns an Invalid error when no such binding can exist.
func (n NewBinding) check() error {
	switch n.SubjectKind {
	case KindUser, KindServiceAccount, KindGroup:
	default:
		return errcode.New(errcode.Invalid, "subject: %.40q is not a kind of subject; use a user, a service account or a group", n.SubjectKind)
	}
	if n.Subject == "" || len(n.Subject) > MaxName {
		return errcode.New(errcode.Invalid, "subject: give a name of at most %d bytes", MaxName)
	}
	if len(n.Actions) == 0 {
		return errcode.New(errcode.Invalid, "actions: name at least one of read, write, create and git")
	}
	for _, a := range n.Actions {
		if !slices.Contains(boundActions, a) {
			return errcode.New(errcode.Invalid, "actions: %.40q cannot be bound; use read, write, create or git", a)
		}
	}
	known := n.Level == LevelHub || n.Level == LevelProject || n.Level == LevelCluster || n.Level == LevelService
	if !known || (n.ObjectID == "") != (n.Level == LevelHub) {
		return errcode.New(errcode.Invalid, "a binding is for the whole hub, or for one project, cluster or service")
	}
	return nil
}

// subject finds the subject of a binding.
func (bs *bindings) subject(ctx context.Context, kind Kind, name string) (id string, what changed, err error) {
	if kind == KindGroup {
		g, err := bs.groups.GroupByName(ctx, name)
		return g.ID, changed{groups: []string{g.ID}}, err
	}
	u, err := bs.users.UserByName(ctx, name)
	if err == nil && u.Kind != kind {
		err = errcode.New(errcode.Invalid, "subject: %s is a %s, not a %s", name, u.Kind, kind)
	}
	return u.ID, changed{users: []string{u.ID}}, err
}

// Bind gives a subject actions on an object and everything below it, and
// returns the bindings that are new, or that the caller took over. It may be repeated.
// Invalid, NotFound.
func (bs *bindings) Bind(ctx context.Context, by string, n NewBinding) ([]Binding, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	var made []Binding
	err := bs.apply(ctx, func(ctx context.Context) (changed, error) {
		made = nil
		id, what, err := bs.subject(ctx, n.SubjectKind, n.Subject)
		if err != nil {
			return changed{}, err
		}
		have, err := bs.access.store.Bindings(ctx, []string{id})
		if err != nil {
			return changed{}, err
		}
		if len(have)+len(n.Actions) > maxBindings {
			return changed{}, errcode.New(errcode.Exhausted, "%s has %d bindings, at most %d are possible; bind a group, or a whole project", n.Subject, len(have), maxBindings)
		}
		for _, action := range n.Actions {
			if b, found := n.among(have, action); found {
				taken, err := bs.takeOver(ctx, b)
				if err != nil {
					return changed{}, err
				}
				made = append(made, taken...)
				continue
			}
			b := Binding{
				ID: NewID("bnd_"), SubjectKind: n.SubjectKind, SubjectID: id, Subject: n.Subject, Action: action,
				Level: n.Level, ObjectID: n.ObjectID, Object: n.Object, ManagedBy: managed.Created(ctx), CreatedAt: bs.now(), CreatedBy: by,
			}
			added, err := bs.store.InsertBinding(ctx, b)
			if err != nil {
				return changed{}, err
			}
			if !added {
				continue
			}
			made = append(made, b)
			if err := event.Record(ctx, b.entry("binding.created", by)); err != nil {
				return changed{}, err
			}
		}
		if len(made) == 0 {
			return changed{}, nil
		}
		return what, nil
	})
	return made, err
}

// among returns the binding with an action, if it is one of some.
func (n NewBinding) among(all []Binding, action Action) (Binding, bool) {
	i := slices.IndexFunc(all, func(b Binding) bool { return b.Level == n.Level && b.ObjectID == n.ObjectID && b.Action == action })
	if i < 0 {
		return Binding{}, false
	}
	return all[i], true
}

// takeOver makes the caller the manager of a binding, if the caller takes over, and
// returns what changed.
func (bs *bindings) takeOver(ctx context.Context, b Binding) ([]Binding, error) {
	before := b.ManagedBy
	var err error
	if b.ManagedBy, err = managed.Write(ctx, b.noun(), before, false); err != nil || b.ManagedBy == before {
		return nil, err
	}
	if err := bs.store.DeleteBinding(ctx, b.ID); err != nil {
		return nil, err
	}
	_, err = bs.store.InsertBinding(ctx, b)
	return []Binding{b}, err
}

// noun is a binding for errors, as "read on project shop of group web".
func (b Binding) noun() string {
	return b.String() + " of " + b.SubjectKind.words() + " " + b.Subject
}

// String describes a binding, as "write on project shop".
func (b Binding) String() string {
	if b.Level == LevelHub {
		return fmt.Sprintf("%s on the whole hub", b.Action)
	}
	return fmt.Sprintf("%s on %s %s", b.Action, b.Level, b.Object)
}

func (b Binding) entry(kind, by string) event.Entry {
	e := event.Entry{Kind: kind, Object: fmt.Sprintf("%s %s", b.SubjectKind, b.Subject), By: by, Message: b.String()}
	if b.Level == LevelCluster {
		e.Cluster = b.ObjectID
	}
	return e
}

// Unbind removes a subject's actions on an object and returns the removed
// bindings. NotFound when there were none.
func (bs *bindings) Unbind(ctx context.Context, by string, n NewBinding) ([]Binding, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	var gone []Binding
	err := bs.apply(ctx, func(ctx context.Context) (changed, error) {
		gone = nil
		id, what, err := bs.subject(ctx, n.SubjectKind, n.Subject)
		if err != nil {
			return changed{}, err
		}
		have, err := bs.access.store.Bindings(ctx, []string{id})
		if err != nil {
			return changed{}, err
		}
		for _, b := range have {
			if b.Level != n.Level || b.ObjectID != n.ObjectID || !slices.Contains(n.Actions, b.Action) {
				continue
			}
			gone = append(gone, b)
			if err := bs.end(ctx, by, b); err != nil {
				return changed{}, err
			}
		}
		if len(gone) == 0 {
			return changed{}, errcode.New(errcode.NotFound, "%s has no such binding; axle auth bindings lists the existing ones", n.Subject)
		}
		return what, nil
	})
	return gone, err
}

func (bs *bindings) end(ctx context.Context, by string, b Binding) error {
	if _, err := managed.Write(ctx, b.noun(), b.ManagedBy, true); err != nil {
		return err
	}
	if err := bs.store.DeleteBinding(ctx, b.ID); err != nil {
		return err
	}
	return event.Record(ctx, b.entry("binding.deleted", by))
}

// BindingsAt returns the bindings of exactly one object.
func (bs *bindings) BindingsAt(ctx context.Context, level Level, objectID string) ([]Binding, error) {
	all, err := bs.store.BindingsAt(ctx, level, objectID)
	return slices.DeleteFunc(all, func(b Binding) bool { return b.Subject == "" }), err
}

// Bindings returns every binding for an administrator, and for others those of
// the caller and their groups. Bindings whose object was deleted are left out.
func (bs *bindings) Bindings(ctx context.Context, by Principal) ([]Binding, error) {
	var subjects []string
	if !(bs.access.admin(by) && by.Administers()) {
		known, _ := bs.access.person(by.ID)
		subjects = append([]string{by.ID}, known.Groups...)
	}
	all, err := bs.access.store.Bindings(ctx, subjects)
	return slices.DeleteFunc(all, func(b Binding) bool {
		return b.Subject == "" || b.Level != LevelHub && b.Object == ""
	}), err
}

// staleChunk is how many bindings one transaction of the sweep deletes.
const staleChunk = 500

// sweep deletes bindings whose project, cluster or service was deleted.
// They give no access: ids are never reused.
func (bs *bindings) sweep(ctx context.Context) error {
	stale, err := bs.store.StaleBindings(ctx, staleChunk)
	if err != nil || len(stale) == 0 {
		return err
	}
	return bs.apply(ctx, func(ctx context.Context) (changed, error) {
		var what changed
		for _, b := range stale {
			if err := bs.store.DeleteBinding(ctx, b.ID); err != nil {
				return changed{}, err
			}
			if b.SubjectKind == KindGroup {
				what.groups = append(what.groups, b.SubjectID)
			} else {
				what.users = append(what.users, b.SubjectID)
			}
		}
		return what, nil
	})
}
