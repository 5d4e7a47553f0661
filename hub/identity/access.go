package identity

import (
	"context"
	"slices"
	"sync"
)

// Level is the kind of object that a binding is about, from the outermost in.
type Level string

// The levels. A binding at one level holds for everything below it.
const (
	LevelHub     Level = "hub"
	LevelProject Level = "project"
	LevelCluster Level = "cluster"
	LevelService Level = "service"
)

// object is one object that bindings are about.
type object struct {
	level Level
	id    string
}

// accessIndex holds who may do what, so that a decision reads only memory:
// people with their groups, and the bindings of each subject, none at first. It
// costs about 1 KB per person with a few bindings.
type accessIndex struct {
	store AccessReader

	// loading is held from a read of the database until its result is stored:
	// of two concurrent reads the later result must win.
	loading sync.Mutex

	mu     sync.RWMutex
	people map[string]knownPerson
	groups map[string]Group
	// bindings are those of a subject, by object.
	bindings map[string]map[object][]Binding
}

// knownPerson is a Person with the names of the groups, as a Principal has
// them. It is never changed in place.
type knownPerson struct {
	Person
	names []string
}

// person returns a person by id.
func (x *accessIndex) person(id string) (knownPerson, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	p, ok := x.people[id]
	return p, ok
}

// find returns the binding that lets a person do the action in the scope: the
// outermost one, the person's own before those of groups.
func (x *accessIndex) find(personID string, action Action, scope Scope) (Binding, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var room [5]object
	for _, place := range scope.objects(room[:0]) {
		if b, ok := given(x.bindings[personID], place, action); ok {
			return b, true
		}
		for _, group := range x.people[personID].Groups {
			if b, ok := given(x.bindings[group], place, action); ok {
				return b, true
			}
		}
	}
	return Binding{}, false
}

func given(of map[object][]Binding, at object, action Action) (Binding, bool) {
	for _, b := range of[at] {
		if b.Action.implies(action) {
			return b, true
		}
	}
	return Binding{}, false
}

// objects returns the objects whose bindings hold in the scope, the outermost first.
func (s Scope) objects(all []object) []object {
	all = append(all, object{LevelHub, ""})
	for _, o := range [...]object{{LevelProject, s.Project}, {LevelProject, s.ClusterProject}, {LevelCluster, s.Cluster}, {LevelService, s.Service}} {
		if o.id != "" {
			all = append(all, o)
		}
	}
	return all
}

// each calls take with every binding that a person has, their own and those of
// their groups.
func (x *accessIndex) each(personID string, take func(Binding)) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	subjects := append([]string{personID}, x.people[personID].Groups...)
	for _, subject := range subjects {
		for _, of := range x.bindings[subject] {
			for _, b := range of {
				take(b)
			}
		}
	}
}

// replace replaces the whole index.
func (x *accessIndex) replace(people []Person, groups []Group, bindings []Binding) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.people, x.groups, x.bindings = map[string]knownPerson{}, map[string]Group{}, map[string]map[object][]Binding{}
	x.take(people, groups, bindings)
}

// update stores the result of a read of some people and groups; those that were
// not found are removed.
func (x *accessIndex) update(personIDs, groupIDs []string, people []Person, groups []Group, bindings []Binding) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.people == nil {
		x.people, x.groups, x.bindings = map[string]knownPerson{}, map[string]Group{}, map[string]map[object][]Binding{}
	}
	for _, id := range personIDs {
		delete(x.people, id)
		delete(x.bindings, id)
	}
	for _, id := range groupIDs {
		delete(x.groups, id)
		delete(x.bindings, id)
	}
	x.take(people, groups, bindings)
}

func (x *accessIndex) take(people []Person, groups []Group, bindings []Binding) {
	for _, g := range groups {
		x.groups[g.ID] = g
	}
	for _, p := range people {
		x.people[p.ID] = knownPerson{Person: p}
	}
	for id, p := range x.people {
		p.names = nil
		for _, group := range p.Groups {
			if g, ok := x.groups[group]; ok {
				p.names = append(p.names, g.Name)
			}
		}
		slices.Sort(p.names)
		x.people[id] = p
	}
	for _, b := range bindings {
		of := x.bindings[b.SubjectID]
		if of == nil {
			of = map[object][]Binding{}
			x.bindings[b.SubjectID] = of
		}
		at := object{b.Level, b.ObjectID}
		of[at] = append(of[at], b)
	}
}

// rebuild loads all people, groups and bindings.
func (x *accessIndex) rebuild(ctx context.Context) error {
	x.loading.Lock()
	defer x.loading.Unlock()
	people, err := x.store.People(ctx, nil)
	if err != nil {
		return err
	}
	groups, err := x.store.Groups(ctx, nil)
	if err != nil {
		return err
	}
	bindings, err := x.store.Bindings(ctx, nil)
	if err != nil {
		return err
	}
	x.replace(people, groups, bindings)
	return nil
}

// reload reads some people and groups again, with their bindings. It must
// not be called inside a transaction: uncommitted changes must not take effect.
func (x *accessIndex) reload(ctx context.Context, personIDs, groupIDs []string) error {
	if len(personIDs) == 0 && len(groupIDs) == 0 {
		return nil
	}
	x.loading.Lock()
	defer x.loading.Unlock()
	people, err := x.store.People(ctx, slices.Concat([]string{}, personIDs))
	if err != nil {
		return err
	}
	groups, err := x.store.Groups(ctx, slices.Concat([]string{}, groupIDs))
	if err != nil {
		return err
	}
	bindings, err := x.store.Bindings(ctx, slices.Concat([]string{}, personIDs, groupIDs))
	if err != nil {
		return err
	}
	x.update(personIDs, groupIDs, people, groups, bindings)
	return nil
}

// admin reports whether the caller is an administrator now.
func (x *accessIndex) admin(p Principal) bool {
	if known, ok := x.person(p.ID); ok {
		return known.Admin
	}
	return p.Admin
}
