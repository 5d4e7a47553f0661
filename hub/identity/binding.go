package identity

import (
	"context"
	"fmt"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxBindings bounds the bindings of one subject; one with more belongs to a
// project or a group.
const maxBindings = 1000

// boundActions are those that bindings give.
var boundActions = []Action{ActionRead, ActionWrite, ActionCreate, ActionGit}

// NewBinding asks for bindings of one subject at one place.
type NewBinding struct {
	// SubjectKind and Subject name a user by e-mail, a service account or a
	// group.
	SubjectKind Kind
	Subject     string
	Actions     []Action
	Level       Level
	// ObjectID is checked by the caller; Object is its name, for the log.
	ObjectID string
	Object   string
}

// check returns an Invalid error about what no binding can be.
func (n NewBinding) check() error {
	switch n.SubjectKind {
	case KindUser, KindServiceAccount, KindGroup:
	default:
		return errcode.New(errcode.Invalid, "subject: %.40q is no kind of subject; name a user, a service account or a group", n.SubjectKind)
	}
	if n.Subject == "" || len(n.Subject) > maxName {
		return errcode.New(errcode.Invalid, "subject: a binding needs the name of one of at most %d bytes", maxName)
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

// subject finds who a binding is for.
func (d *Directory) subject(ctx context.Context, kind Kind, name string) (id string, what changed, err error) {
	if kind == KindGroup {
		g, err := d.store.GroupByName(ctx, name)
		return g.ID, changed{groups: []string{g.ID}}, err
	}
	u, err := d.UserByName(ctx, name)
	if err == nil && u.Kind != kind {
		err = errcode.New(errcode.Invalid, "subject: %s is a %s, not a %s", name, u.Kind, kind)
	}
	return u.ID, changed{users: []string{u.ID}}, err
}

// Bind gives a subject actions at a place and below, and returns the bindings
// that are new. It may be repeated. Invalid, NotFound.
func (d *Directory) Bind(ctx context.Context, by string, n NewBinding) ([]Binding, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	var made []Binding
	err := d.changeAccess(ctx, func(ctx context.Context) (changed, error) {
		made = nil
		id, what, err := d.subject(ctx, n.SubjectKind, n.Subject)
		if err != nil {
			return changed{}, err
		}
		have, err := d.store.Bindings(ctx, []string{id})
		if err != nil {
			return changed{}, err
		}
		if len(have)+len(n.Actions) > maxBindings {
			return changed{}, errcode.New(errcode.Exhausted, "%s has %d bindings, at most %d are possible; bind a group, or a whole project", n.Subject, len(have), maxBindings)
		}
		for _, action := range n.Actions {
			b := Binding{
				ID: newID("bnd_"), SubjectKind: n.SubjectKind, SubjectID: id, Subject: n.Subject, Action: action,
				Level: n.Level, ObjectID: n.ObjectID, Object: n.Object, CreatedAt: d.now(), CreatedBy: by,
			}
			added, err := d.store.InsertBinding(ctx, b)
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

// String says what a binding gives, as "write on project shop".
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

// Unbind takes actions at a place back and returns what is gone. NotFound when
// there was nothing.
func (d *Directory) Unbind(ctx context.Context, by string, n NewBinding) ([]Binding, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	var gone []Binding
	err := d.changeAccess(ctx, func(ctx context.Context) (changed, error) {
		gone = nil
		id, what, err := d.subject(ctx, n.SubjectKind, n.Subject)
		if err != nil {
			return changed{}, err
		}
		have, err := d.store.Bindings(ctx, []string{id})
		if err != nil {
			return changed{}, err
		}
		for _, b := range have {
			if b.Level != n.Level || b.ObjectID != n.ObjectID || !slices.Contains(n.Actions, b.Action) {
				continue
			}
			gone = append(gone, b)
			if err := d.endBinding(ctx, by, b); err != nil {
				return changed{}, err
			}
		}
		if len(gone) == 0 {
			return changed{}, errcode.New(errcode.NotFound, "%s has no such binding; axle auth bindings shows those that there are", n.Subject)
		}
		return what, nil
	})
	return gone, err
}

func (d *Directory) endBinding(ctx context.Context, by string, b Binding) error {
	if err := d.store.DeleteBinding(ctx, b.ID); err != nil {
		return err
	}
	return event.Record(ctx, b.entry("binding.deleted", by))
}

// Bindings returns every binding for an administrator, else those that the
// caller and his groups have. Those whose place is gone are left out.
func (d *Directory) Bindings(ctx context.Context, by Principal) ([]Binding, error) {
	var subjects []string
	if !(d.admin(by) && by.HasScope(ScopeAdmin)) {
		known, _ := d.access.person(by.ID)
		subjects = append([]string{by.ID}, known.Groups...)
	}
	all, err := d.store.Bindings(ctx, subjects)
	return slices.DeleteFunc(all, func(b Binding) bool {
		return b.Subject == "" || b.Level != LevelHub && b.Object == ""
	}), err
}

// staleChunk is how many bindings one transaction of the sweep ends.
const staleChunk = 500

// sweepBindings ends bindings whose project, cluster or service is gone. They
// give nothing: ids are not used again.
func (d *Directory) sweepBindings(ctx context.Context) error {
	stale, err := d.store.StaleBindings(ctx, staleChunk)
	if err != nil || len(stale) == 0 {
		return err
	}
	return d.changeAccess(ctx, func(ctx context.Context) (changed, error) {
		var what changed
		for _, b := range stale {
			if err := d.store.DeleteBinding(ctx, b.ID); err != nil {
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
