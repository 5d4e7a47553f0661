package config

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// maxValueSet limits a context: it is sent with the spec of each service that binds
// it.
const maxValueSet = 256 << 10

// ValueSetView is a context or outputs. Reads return its secrets as keys with empty
// values.
type ValueSetView struct {
	ValueSetRow
	fleet.ValueSet
}

// ValueSetChange is a change of a value set.
type ValueSetChange struct {
	Kind, Name string
	// ProjectID is the project whose services may use it from now on. Empty
	// keeps the project of an existing value set, and makes a new one available to
	// all projects.
	ProjectID string
	// Global makes it available to all projects; ProjectID is then empty.
	Global bool
	fleet.ValueSet
	// Create refuses an existing value set, Update a missing one.
	Create, Update bool
	// Merge adds to the existing values and removes Unset. Without it
	// everything is replaced, except that a secret with an empty value keeps
	// its stored value.
	Merge bool
	Unset []string
	By    string
}

// ContextField is the field of a service that refers to a context, with an index.
const ContextField = "contexts[%d]"

// ValueSets implements fleet.Configuration.
func (k *Keeper) ValueSets(ctx context.Context, projectID string, contexts, outputs []string) (byContext, byOutputs map[string]string, err error) {
	byContext, byOutputs = make(map[string]string, len(contexts)), make(map[string]string, len(outputs))
	for i, name := range contexts {
		b, err := k.config.Sets.ValueSetByName(ctx, KindContext, name)
		if errcode.Is(err, errcode.NotFound) {
			return nil, nil, NoValueSetAt(name, fmt.Sprintf(ContextField, i))
		}
		if err != nil {
			return nil, nil, err
		}
		if !b.usableIn(projectID) {
			return nil, nil, errcode.New(errcode.Invalid, ContextField+": context %q is for services of project %s", i, name, b.Project)
		}
		if err := event.DependsOn(ctx, event.Change{Kind: event.KindContext, Key: name}); err != nil {
			return nil, nil, err
		}
		byContext[name] = b.Document
	}
	for _, name := range outputs {
		// Whoever creates them later updates the services that wait for them.
		if err := event.DependsOn(ctx, event.Change{Kind: event.KindOutputs, Key: name}); err != nil {
			return nil, nil, err
		}
		b, err := k.config.Sets.ValueSetByName(ctx, KindOutputs, name)
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return nil, nil, err
		}
		if err == nil && b.usableIn(projectID) {
			byOutputs[name] = b.Document
		}
	}
	return byContext, byOutputs, nil
}

// usableIn reports whether services of a project may use the value set.
func (b ValueSetRow) usableIn(projectID string) bool {
	return b.ProjectID == "" || b.ProjectID == projectID
}

// ListValueSets returns all value sets of a kind with their values, in order of name. A
// value set that cannot be read now is returned without values.
func (k *Keeper) ListValueSets(ctx context.Context, kind string) ([]ValueSetView, error) {
	rows, err := k.config.Sets.ValueSets(ctx, kind)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.Document
	}
	found, _ := k.Open(ctx, ids)
	views := make([]ValueSetView, len(rows))
	for i, r := range rows {
		views[i].ValueSetRow = r
		if text, ok := found[r.Document]; ok {
			if views[i].ValueSet, err = decodeValueSet(text); err != nil {
				return nil, err
			}
			views[i].Secrets = blank(views[i].Secrets)
		}
	}
	return views, nil
}

// ValueSet returns a value set with its values. NotFound.
func (k *Keeper) ValueSet(ctx context.Context, kind, name string) (ValueSetView, error) {
	row, valueSet, err := k.valueSet(ctx, kind, name)
	valueSet.Secrets = blank(valueSet.Secrets)
	return ValueSetView{row, valueSet}, err
}

// valueSet returns a value set with its secrets.
func (k *Keeper) valueSet(ctx context.Context, kind, name string) (ValueSetRow, fleet.ValueSet, error) {
	row, err := k.config.Sets.ValueSetByName(ctx, kind, name)
	if err != nil {
		return row, fleet.ValueSet{}, err
	}
	found, failed := k.Open(ctx, []string{row.Document})
	if err := failed[row.Document]; err != nil {
		return row, fleet.ValueSet{}, err
	}
	valueSet, err := decodeValueSet(found[row.Document])
	return row, valueSet, err
}

func decodeValueSet(text []byte) (b fleet.ValueSet, err error) {
	if json.Unmarshal(text, &b) != nil {
		return b, errcode.New(errcode.Internal, "a document of values cannot be read; set the values again")
	}
	return b, nil
}

func blank(secrets map[string]string) map[string]string {
	out := make(map[string]string, len(secrets))
	for key := range secrets {
		out[key] = ""
	}
	return out
}

// home returns the value set's project after the change; before is empty for a new
// value set.
func (c ValueSetChange) home(before ValueSetRow) string {
	if c.ProjectID == "" && !c.Global {
		return before.ProjectID
	}
	return c.ProjectID
}

// SetValueSet creates or changes a context or outputs. An equal value set changes nothing.
func (k *Keeper) SetValueSet(ctx context.Context, c ValueSetChange) (ValueSetView, error) {
	if !rule.ValueSet.Valid(c.Name) {
		return ValueSetView{}, errcode.New(errcode.Invalid, "name: %.80q is not a name; use %s", c.Name, rule.ValueSet.Words)
	}
	for {
		before, present, err := k.valueSet(ctx, c.Kind, c.Name)
		missing := errcode.Is(err, errcode.NotFound) && before.Document == ""
		switch {
		case err != nil && !missing:
			return ValueSetView{}, err
		case missing && c.Update:
			return ValueSetView{}, err
		case !missing && c.Create:
			return ValueSetView{}, errcode.New(errcode.Conflict, "%s %q exists already", c.Kind, c.Name)
		}
		next, err := c.apply(present)
		if err != nil {
			return ValueSetView{}, err
		}
		if !missing {
			same := reflect.DeepEqual(next, present) && before.ProjectID == c.home(before)
			manager, err := managed.Write(ctx, c.Kind+" "+c.Name, before.ManagedBy, !same)
			if err != nil {
				return ValueSetView{}, err
			}
			if same && manager == before.ManagedBy {
				return k.ValueSet(ctx, c.Kind, c.Name)
			}
		}
		done, err := k.replaceValueSet(ctx, c, before, next)
		if err != nil {
			return ValueSetView{}, err
		}
		if done {
			return k.ValueSet(ctx, c.Kind, c.Name)
		}
	}
}

// apply returns the value set after the change.
func (c ValueSetChange) apply(present fleet.ValueSet) (fleet.ValueSet, error) {
	next := fleet.ValueSet{Values: map[string]any{}, Secrets: map[string]string{}}
	if c.Merge {
		maps.Copy(next.Values, present.Values)
		maps.Copy(next.Secrets, present.Secrets)
	}
	for _, key := range c.Unset {
		delete(next.Values, key)
		delete(next.Secrets, key)
	}
	for key, value := range c.Values {
		delete(next.Secrets, key)
		next.Values[key] = value
	}
	for key, value := range c.Secrets {
		if value == "" {
			value = present.Secrets[key]
		}
		if _, both := c.Values[key]; both {
			return next, errcode.New(errcode.Invalid, "secrets.%s: is also in values; give the key in only one of them", key)
		}
		delete(next.Values, key)
		next.Secrets[key] = value
	}
	// Encode and decode it, so that equal value sets compare equal.
	text, err := json.Marshal(next)
	if err != nil {
		return next, errcode.New(errcode.Invalid, "the values cannot be written as JSON")
	}
	if len(text) > maxValueSet {
		return next, errcode.New(errcode.Exhausted, "the values have %d bytes; at most %d are allowed, because they are sent with every service; give fewer, or split them between two contexts", len(text), maxValueSet)
	}
	return decodeValueSet(text)
}

// replaceValueSet stores the new document and the row; it returns false when the row
// was changed by others meanwhile.
func (k *Keeper) replaceValueSet(ctx context.Context, c ValueSetChange, before ValueSetRow, next fleet.ValueSet) (done bool, err error) {
	text, err := json.Marshal(next)
	if err != nil {
		return false, err
	}
	id, err := k.put(ctx, string(text), true)
	if err != nil {
		return false, err
	}
	err = k.config.Writer.Write(ctx, func(ctx context.Context) error {
		now, err := k.config.Sets.ValueSetByName(ctx, c.Kind, c.Name)
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return err
		}
		if done = now.Document == before.Document; !done {
			return nil
		}
		row := ValueSetRow{Kind: c.Kind, Name: c.Name, ProjectID: c.home(before), Document: id, Version: before.Version + 1, UpdatedAt: k.now(), UpdatedBy: c.By, ManagedBy: managed.Created(ctx)}
		if now.Document != "" {
			if row.ManagedBy, err = managed.Write(ctx, c.Kind+" "+c.Name, now.ManagedBy, true); err != nil {
				return err
			}
		}
		if before.Document != "" && before.ProjectID != row.ProjectID && row.ProjectID != "" {
			used, err := k.config.Uses.UsedBy(ctx, fleet.Use{Kind: c.Kind, Name: c.Name}, before.ProjectID)
			if err != nil {
				return err
			}
			if len(used) > 0 {
				return errcode.New(errcode.Conflict, "%s %q is used by %d services; remove it from them before you move it to one project", c.Kind, c.Name, len(used))
			}
		}
		if err := k.config.Sets.PutValueSet(ctx, row); err != nil {
			return err
		}
		verb := "updated"
		if before.Document == "" {
			verb = "created"
		}
		return recordValueSet(ctx, c.Kind, c.Name, verb, c.By)
	})
	return done, err
}

func recordValueSet(ctx context.Context, kind, name, verb, by string) error {
	if err := event.Append(ctx, event.Change{Kind: event.Kind(kind), Key: name}); err != nil {
		return err
	}
	return event.Record(ctx, event.Entry{Kind: kind + "." + verb, Object: kind + " " + name, By: by})
}

// DeleteValueSet removes a context or outputs. Conflict while services use it.
func (k *Keeper) DeleteValueSet(ctx context.Context, kind, name, by string) error {
	return k.config.Writer.Write(ctx, func(ctx context.Context) error {
		row, err := k.config.Sets.ValueSetByName(ctx, kind, name)
		if err != nil {
			return err
		}
		if _, err := managed.Write(ctx, kind+" "+name, row.ManagedBy, true); err != nil {
			return err
		}
		used, err := k.config.Uses.UsedBy(ctx, fleet.Use{Kind: kind, Name: name}, row.ProjectID)
		if err != nil {
			return err
		}
		if len(used) > 0 {
			return errcode.New(errcode.Conflict, "%s %q is used by %d services; remove it from them first", kind, name, len(used))
		}
		if err := k.config.Sets.DeleteValueSet(ctx, kind, name); err != nil {
			return err
		}
		return recordValueSet(ctx, kind, name, "deleted", by)
	})
}

// noValueSet returns the NotFound error.
func noValueSet(kind, name string) error {
	how := "axle servicecontexts list"
	if kind == KindOutputs {
		how = "axle outputs list"
	}
	return errcode.New(errcode.NotFound, "%s %q does not exist; see %s", kind, name, how)
}

// NoValueSet is the error of a store for an unknown name.
func NoValueSet(kind, name string) error { return fmt.Errorf("%w", noValueSet(kind, name)) }

// NoValueSetAt is the error for a field of a service that names an unknown context. A
// caller who may not see an existing context gets the same error.
func NoValueSetAt(name, field string) error {
	return errcode.New(errcode.Invalid, "%s: %w", field, noValueSet(KindContext, name))
}
