package objects

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// Wanted is what an object is declared to be.
type Wanted struct {
	Name string
	Spec json.RawMessage
	// References have a Field, a Position, a TargetKind and a Name each.
	References []Reference
	// Secrets are the values of secret fields that were given, by field; nothing keeps them
	// but the part of the kind.
	Secrets map[string]string
	// Revision is the one to change; 0 is any.
	Revision int64
	DryRun   bool
}

// Outcome is what a declaration did.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
)

// Apply creates an object or changes the one of that name.
func (s *Objects) Apply(ctx context.Context, k Kind, by string, w Wanted) (out Shown, outcome Outcome, err error) {
	if len(w.Spec) > MaxSpec {
		return out, "", errcode.New(errcode.Invalid, "%s %s: its settings have %d bytes; at most %d are allowed", k.Noun, w.Name, len(w.Spec), MaxSpec)
	}
	var pinned json.RawMessage
	if prepare := s.config.Prepares[k.Name]; prepare != nil {
		if pinned, err = prepare(ctx, w.Spec, w.References); err != nil {
			return out, "", err
		}
	}
	err = s.config.Writer.Write(ctx, func(ctx context.Context) error {
		out, outcome, err = s.apply(ctx, k, by, w, pinned)
		return err
	})
	if part := s.config.Parts[k.Name]; part != nil && err == nil && outcome != Unchanged && !w.DryRun {
		part.Wrote(ctx, out.Object)
	}
	return out, outcome, err
}

func (s *Objects) apply(ctx context.Context, k Kind, by string, w Wanted, pinned json.RawMessage) (out Shown, outcome Outcome, err error) {
	before, exists, err := s.config.Store.Object(ctx, k.Name, w.Name)
	if err != nil {
		return out, "", err
	}
	if w.Revision != 0 && w.Revision != before.Revision {
		return out, "", errcode.New(errcode.Conflict, "%s %s has revision %d, not %d; read it again, and repeat the change", k.Noun, w.Name, before.Revision, w.Revision)
	}
	had, err := s.had(ctx, before.ID)
	if err != nil {
		return out, "", err
	}
	references, err := s.bind(ctx, k, w, had)
	if err != nil {
		return out, "", err
	}
	if check := s.config.Checks[k.Name]; check != nil {
		if err := check(ctx, w.Spec, references); err != nil {
			return out, "", err
		}
	}
	changes := !bytes.Equal(w.Spec, before.Spec) || !bytes.Equal(pinned, before.Pinned) || !slices.EqualFunc(references, had, sameTarget)
	next := before
	next.Kind, next.Name, next.Spec, next.Pinned = k.Name, w.Name, w.Spec, pinned
	if !exists {
		next.ID = identity.NewID(k.Prefix)
	}
	if k.InProject {
		next.ProjectID = projectOf(references)
	}
	if part := s.config.Parts[k.Name]; part != nil {
		other, err := part.Put(ctx, before, next, references, w.Secrets, w.DryRun)
		if err != nil {
			return out, "", err
		}
		changes = changes || other
	}
	if outcome = Created; exists {
		if next.ManagedBy, err = managed.Write(ctx, k.Noun+" "+w.Name, before.ManagedBy, changes); err != nil {
			return out, "", err
		}
		if outcome = Updated; !changes && next.ManagedBy == before.ManagedBy {
			return Shown{before, references}, Unchanged, nil
		}
	} else {
		if err := s.room(ctx, k); err != nil {
			return out, "", err
		}
		next.ManagedBy, next.CreatedAt = managed.Created(ctx), clock.Micros(s.config.Clock.Now())
	}
	next.Revision, next.DeclaredBy, next.UpdatedAt = before.Revision+1, by, clock.Micros(s.config.Clock.Now())
	if !w.DryRun {
		err = s.put(ctx, k, before, next, references, outcome)
	}
	return Shown{next, references}, outcome, err
}

// projectOf is the project that the field of that name refers to.
func projectOf(references []Reference) string {
	for _, r := range references {
		if r.Field == "project" {
			return r.TargetID
		}
	}
	return ""
}

// put stores what an object becomes, with its event.
func (s *Objects) put(ctx context.Context, k Kind, before, next Object, references []Reference, outcome Outcome) error {
	for i := range references {
		references[i].ObjectID = next.ID
	}
	if outcome == Created {
		if err := s.config.Store.InsertObject(ctx, next); err != nil {
			return err
		}
	} else if held, err := s.config.Store.UpdateObject(ctx, next); err != nil || !held {
		if err == nil {
			err = changed(k, next.Name)
		}
		return err
	}
	if err := s.config.Store.PutReferences(ctx, next.ID, references); err != nil {
		return err
	}
	return record(ctx, next, event.Entry{
		Kind: k.Topic + "." + string(outcome), Object: k.Noun + " " + next.Name, By: next.DeclaredBy, Message: managed.TookOver(before.ManagedBy, next.ManagedBy),
	})
}

// record adds what happened to an object to the event log, and its change to the feed: what
// was read of it in a transaction may not hold any more.
func record(ctx context.Context, o Object, e event.Entry) error {
	return cmp.Or(event.Append(ctx, event.Change{Kind: event.KindObject, Key: o.ID}), event.Record(ctx, e))
}

// room returns Conflict when no further object may be made.
func (s *Objects) room(ctx context.Context, k Kind) error {
	n, err := s.config.Store.CountObjects(ctx, k.Name, "")
	if err == nil && n >= int64(k.Limit) {
		err = errcode.New(errcode.Conflict, "there are %d %ss in the hub; at most %d are allowed: delete one first", n, k.Noun, k.Limit)
	}
	return err
}

// had are the references of the object of an id; an empty id has none.
func (s *Objects) had(ctx context.Context, id string) ([]Reference, error) {
	if id == "" {
		return nil, nil
	}
	return s.config.Store.References(ctx, []string{id})
}

// bind resolves what an object names. What a name is bound to stays, also when the object
// has another name now; a name whose object was deleted finds no other one of that name.
func (s *Objects) bind(ctx context.Context, k Kind, w Wanted, had []Reference) ([]Reference, error) {
	names, err := s.names(ctx, had, identity.All)
	if err != nil {
		return nil, err
	}
	// In the order in which the store returns them, so that equal ones compare as such.
	bound := slices.SortedFunc(slices.Values(w.References), func(a, b Reference) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), cmp.Compare(a.Position, b.Position))
	})
	for i := range bound {
		b := &bound[i]
		for _, h := range had {
			present, exists := names[h.TargetID]
			switch {
			case h.Field != b.Field || h.TargetKind != b.TargetKind:
			case exists && present == b.Name:
				b.TargetID = h.TargetID
			case !exists && h.Name == b.Name:
				return nil, errcode.New(errcode.Conflict, "%s: the object %q that %s %s refers to was deleted, and another one of that name is not taken in its place; name another one, or delete the %s and create it again", b.Field, b.Name, k.Noun, w.Name, k.Noun)
			}
		}
		if b.TargetID != "" {
			continue
		}
		if b.TargetID, err = s.config.Targets[b.TargetKind].Find(ctx, b.Name); err != nil {
			if errcode.Is(err, errcode.NotFound) {
				err = errcode.New(errcode.NotFound, "%s: %w", b.Field, err)
			}
			return nil, err
		}
	}
	return bound, nil
}

func sameTarget(a, b Reference) bool {
	return a.Field == b.Field && a.Position == b.Position && a.TargetID == b.TargetID
}
