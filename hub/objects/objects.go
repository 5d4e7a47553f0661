package objects

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// MaxPage is the largest page of a list, MaxSpec limits the settings of one object in bytes.
const (
	MaxPage = 500
	MaxSpec = 256 << 10
)

// Kind is what this package knows of a kind.
type Kind struct {
	Name string
	// Noun is one object for people, and Topic the same in names of events.
	Noun, Topic string
	// Prefix begins ids, Limit is how many objects a hub has, and List the command that
	// lists them.
	Prefix, List string
	Limit        int
	// InProject is set when objects are in the project that their field project names.
	InProject bool
}

// missing is the error for an object that does not exist.
func (k Kind) missing(name string) error {
	return errcode.New(errcode.NotFound, "%s %.80q does not exist; %s shows the existing ones", k.Noun, name, k.List)
}

// Object is a declared object.
type Object struct {
	ID, Kind, Name string
	// Spec is its settings, without what refers to other objects.
	Spec                           json.RawMessage
	Revision, CreatedAt, UpdatedAt int64
	ManagedBy                      managed.Manager
	DeclaredBy                     string
	// ProjectID is the project that it is in; empty is the hub as a whole.
	ProjectID string
	// Pinned is what the part of the kind found for the settings, as JSON of its own.
	Pinned json.RawMessage
}

// Reference is a field of an object that names another one.
type Reference struct {
	ObjectID string
	// Field is that of the settings, and Position the one in a list.
	Field    string
	Position int64
	// TargetKind and TargetID are what the name found when it was written.
	TargetKind, TargetID, Name string
}

// Store keeps objects. Methods that write are called in a transaction.
type Store interface {
	// Object returns one by its name. NotFound.
	Object(ctx context.Context, kind, name string) (Object, bool, error)
	// Objects returns those after a name whose projects are within reach, in order of names.
	Objects(ctx context.Context, kind, after string, reach identity.Reach, limit int) ([]Object, error)
	// CountObjects counts those of a kind, in a project unless it is empty.
	CountObjects(ctx context.Context, kind, projectID string) (int64, error)
	// InsertObject creates one. Conflict when the name is taken.
	InsertObject(ctx context.Context, o Object) error
	// UpdateObject changes the revision before the one of o, and reports whether that was
	// the present one.
	UpdateObject(ctx context.Context, o Object) (bool, error)
	// DeleteObject deletes one of a revision with its references, and reports whether that
	// was the present one.
	DeleteObject(ctx context.Context, o Object) (bool, error)
	// References returns those of objects, in order of field and position.
	References(ctx context.Context, objectIDs []string) ([]Reference, error)
	// PutReferences replaces those of an object.
	PutReferences(ctx context.Context, objectID string, all []Reference) error
	// ObjectUsers returns the first objects that refer to a target, and how many there are.
	ObjectUsers(ctx context.Context, targetID string) (first []Object, total int64, err error)
}

// Target finds the objects of a kind that others name.
type Target struct {
	// Find returns the id of the object of a name that the caller may read. NotFound.
	Find func(ctx context.Context, name string) (id string, err error)
	// Names returns the present names of those that exist and are within reach.
	Names func(ctx context.Context, ids []string, reach identity.Reach) (map[string]string, error)
}

// Check is what a part of the hub requires of its kind, beyond the rules of the fields.
type Check func(ctx context.Context, spec json.RawMessage, references []Reference) error

// Part is the part of the hub that a kind is about. Put and Delete are called in the
// transaction of a write.
type Part interface {
	// Put is called for each declaration with what the object becomes, and the secrets that
	// were given with it, by field. before has no ID for a new one. It reports whether
	// it changed something of its own; in a dry run it only checks.
	Put(ctx context.Context, before, after Object, references []Reference, secrets map[string]string, dryRun bool) (changes bool, err error)
	// Wrote is called after the transaction of a declaration that changed something.
	Wrote(ctx context.Context, o Object)
	// Delete is called before an object is deleted.
	Delete(ctx context.Context, o Object) error
}

// Prepare is what a part of the hub looks up for an object before it is declared, such as the
// commit of a branch. References have names. It runs outside of the transaction, and what it
// returns is stored with the object; another result is a change of the object.
type Prepare func(ctx context.Context, spec json.RawMessage, references []Reference) (pinned json.RawMessage, err error)

// Config has what Objects needs. Checks, Prepares, Parts and Clock are optional.
type Config struct {
	Store  Store
	Writer interface {
		Write(ctx context.Context, fn func(ctx context.Context) error) error
	}
	// Targets are those of each kind that is named, Checks, Prepares and Parts those of a kind.
	Targets  map[string]Target
	Checks   map[string]Check
	Prepares map[string]Prepare
	Parts    map[string]Part
	Clock    clock.Clock
}

// Objects keeps the objects. Its methods are safe for concurrent use.
type Objects struct{ config Config }

// New returns an error when a required part is missing.
func New(c Config) (*Objects, error) {
	if c.Store == nil || c.Writer == nil {
		return nil, errors.New("objects: a part is missing")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	return &Objects{c}, nil
}

// Shown is an object with what it refers to by the present names, within a reach.
type Shown struct {
	Object
	References []Reference
}

// Get returns an object by its name. NotFound.
func (s *Objects) Get(ctx context.Context, k Kind, name string, reach identity.Reach) (Shown, error) {
	o, found, err := s.config.Store.Object(ctx, k.Name, name)
	if err == nil && !found {
		err = k.missing(name)
	}
	if err != nil {
		return Shown{}, err
	}
	all, err := s.shown(ctx, []Object{o}, reach)
	if err != nil {
		return Shown{}, err
	}
	return all[0], nil
}

// List returns a page of objects after a name, and whether there are more.
func (s *Objects) List(ctx context.Context, k Kind, after string, size int, reach identity.Reach) (page []Shown, more bool, err error) {
	if size <= 0 || size > MaxPage {
		size = MaxPage
	}
	all, err := s.config.Store.Objects(ctx, k.Name, after, k.within(reach), size+1)
	if err != nil {
		return nil, false, err
	}
	if more = len(all) > size; more {
		all = all[:size]
	}
	page, err = s.shown(ctx, all, reach)
	return page, more, err
}

// within is where the objects of a list are: whoever reads something reads those of no project.
func (k Kind) within(reach identity.Reach) identity.Reach {
	if k.InProject {
		return reach
	}
	return identity.All
}

// shown adds what objects refer to. A name that is out of reach is empty.
func (s *Objects) shown(ctx context.Context, all []Object, reach identity.Reach) ([]Shown, error) {
	ids, at, out := make([]string, len(all)), map[string]int{}, make([]Shown, len(all))
	for i, o := range all {
		ids[i], at[o.ID], out[i].Object = o.ID, i, o
	}
	references, err := s.config.Store.References(ctx, ids)
	if err != nil {
		return nil, err
	}
	names, err := s.names(ctx, references, reach)
	for _, r := range references {
		r.Name = names[r.TargetID]
		out[at[r.ObjectID]].References = append(out[at[r.ObjectID]].References, r)
	}
	return out, err
}

// names are the present names of what references refer to, by id.
func (s *Objects) names(ctx context.Context, references []Reference, reach identity.Reach) (map[string]string, error) {
	ids, names := map[string][]string{}, map[string]string{}
	for _, r := range references {
		ids[r.TargetKind] = append(ids[r.TargetKind], r.TargetID)
	}
	for kind, some := range ids {
		found, err := s.config.Targets[kind].Names(ctx, some, reach)
		if err != nil {
			return nil, err
		}
		for id, name := range found {
			names[id] = name
		}
	}
	return names, nil
}

// Delete deletes an object by its name. Conflict while another one refers to it.
func (s *Objects) Delete(ctx context.Context, k Kind, by, name string) error {
	return s.config.Writer.Write(ctx, func(ctx context.Context) error {
		o, found, err := s.config.Store.Object(ctx, k.Name, name)
		if err == nil && !found {
			err = k.missing(name)
		}
		if err != nil {
			return err
		}
		if _, err := managed.Write(ctx, k.Noun+" "+name, o.ManagedBy, true); err != nil {
			return err
		}
		if err := s.Unused(ctx, k.Noun+" "+name, o.ID); err != nil {
			return err
		}
		if part := s.config.Parts[k.Name]; part != nil {
			if err := part.Delete(ctx, o); err != nil {
				return err
			}
		}
		held, err := s.config.Store.DeleteObject(ctx, o)
		if err == nil && !held {
			err = changed(k, name)
		}
		if err != nil {
			return err
		}
		return record(ctx, o, event.Entry{Kind: k.Topic + ".deleted", Object: k.Noun + " " + name, By: by})
	})
}

// Unused returns Conflict while objects refer to a target, which what names for people.
func (s *Objects) Unused(ctx context.Context, what, targetID string) error {
	users, total, err := s.config.Store.ObjectUsers(ctx, targetID)
	if err != nil || total == 0 {
		return err
	}
	return errcode.New(errcode.Conflict, "%s is used by %s %s; change or delete it first (%d in all)", what, users[0].Kind, users[0].Name, total)
}

// changed is the error of a write that was overtaken by another one.
func changed(k Kind, name string) error {
	return errcode.New(errcode.Conflict, "%s %s was changed meanwhile; read it again, and repeat the change", k.Noun, name)
}
