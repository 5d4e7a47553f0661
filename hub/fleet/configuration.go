package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/axle-cd/axle/internal/errcode"
)

// Use is something from which a service takes values.
type Use struct {
	// Kind is one of the constants below.
	Kind string
	Name string
}

// The kinds of use.
const (
	UseContext = "context"
	UseOutputs = "outputs"
	// The name is the backend's name, a colon and the path.
	UseReference = "reference"
	// The name is CLUSTER/NAME: a service that is waited for gives no value, but is
	// found in the same way when it changes.
	UseService = "service"
)

// Configuration stores values; hub/config implements it. Documents never change.
type Configuration interface {
	// Put stores a document and returns its id. It must not run in a
	// transaction, because it may call another machine. A document that nothing
	// refers to is deleted after an hour.
	Put(ctx context.Context, document []byte) (id string, err error)
	// Open returns the documents that can be read, and the errors of the others.
	Open(ctx context.Context, ids []string) (map[string][]byte, map[string]error)
	// ValueSets returns the ids of the documents of contexts and outputs, by name,
	// as of the transaction of ctx. Invalid with the field when a context does not
	// exist, or belongs to another project. Such outputs are left out: a service
	// waits for them.
	ValueSets(ctx context.Context, projectID string, contexts, outputs []string) (byContext, byOutputs map[string]string, err error)
	// Read reads references from their backends, by key. It must not run in a
	// transaction.
	Read(ctx context.Context, project string, refs map[string]SecretRef) (map[string]string, error)
	// Bind records what a service uses, in the transaction of ctx.
	Bind(ctx context.Context, serviceID string, uses []Use) error
}

// unstaged ends a transaction that first needs a document to be created.
// Backends are other machines, and no transaction waits for one.
type unstaged struct {
	service StoredService
	own     string
	sealed  string
	secrets map[string]string
	refs    map[string]SecretRef
	// moved is set when the service moves to another project. Its references
	// are then read again, because a backend may refuse that project.
	moved bool
}

// Error is the message for a caller that does not handle this error.
func (u *unstaged) Error() string {
	return "the configuration of service " + u.service.Name + " kept changing while it was read; try again"
}

// staging holds documents that were created for a transaction.
type staging struct {
	dryRun bool
	// refresh reads references again.
	refresh bool
	made    *unstaged
	id      string
}

type stagingKey struct{}

// maxStagings limits how often a transaction is retried because the inputs of a
// document changed meanwhile.
const maxStagings = 5

// staged runs a transaction and creates the document that it needs.
func (f *Fleet) staged(ctx context.Context, s *staging, fn func(ctx context.Context) error) error {
	ctx = context.WithValue(ctx, stagingKey{}, s)
	for try := 1; ; try++ {
		err := f.writer.Write(ctx, fn)
		var need *unstaged
		if !errors.As(err, &need) {
			return err
		}
		if try == maxStagings {
			return errcode.New(errcode.Conflict, "%s", need.Error())
		}
		if err := f.stage(ctx, s, need); err != nil {
			return err
		}
	}
}

// stage creates the needed document.
func (f *Fleet) stage(ctx context.Context, s *staging, need *unstaged) error {
	before, err := f.openOwn(ctx, version{Own: need.own, sealed: need.sealed}, need.service.ID)
	if err != nil {
		return err
	}
	next := ownValues{Secrets: maps.Clone(need.secrets), References: before.References}
	for key, value := range next.Secrets {
		if value == "" {
			next.Secrets[key] = before.Secrets[key]
		}
	}
	if s.refresh || need.moved || !maps.Equal(need.refs, before.from()) {
		values, err := f.configuration.Read(ctx, need.service.Project, need.refs)
		if err != nil {
			return err
		}
		next.References = make(map[string]reference, len(values))
		for key, value := range values {
			next.References[key] = reference{need.refs[key], value}
		}
	}
	s.made = need
	switch {
	case next.empty():
		s.id = ""
	case need.sealed == "" && maps.Equal(next.Secrets, before.Secrets) && maps.Equal(next.References, before.References):
		s.id = need.own
	case s.dryRun:
		s.id = "dry-run"
	default:
		text, err := json.Marshal(next)
		if err != nil {
			return fmt.Errorf("encode the values of service %s: %w", need.service.Name, err)
		}
		s.id, err = f.configuration.Put(ctx, text)
		if err != nil {
			return err
		}
	}
	return nil
}

// takeConfiguration moves the secret values out of s.Spec and makes s.Secrets
// refer to the service's current configuration. An empty value of a stored key
// keeps the stored value, so that a spec that was read can be written back.
func (f *Fleet) takeConfiguration(ctx context.Context, s *StoredService, before Service) error {
	present, err := parseVersion(s.Secrets)
	if err != nil {
		return err
	}
	next := version{}
	if next.Contexts, next.Imports, err = f.valueSets(ctx, *s); err != nil {
		return err
	}
	need := &unstaged{service: *s, own: present.Own, sealed: present.sealed, secrets: s.Spec.Secrets, refs: s.Spec.SecretRefs}
	need.moved = len(need.refs) > 0 && s.ProjectID != before.ProjectID
	s.Spec.Secrets = keysOnly(s.Spec.Secrets)
	staged, _ := ctx.Value(stagingKey{}).(*staging)
	switch {
	case staged != nil && staged.made != nil && staged.made.same(need):
		next.Own = staged.id
	case (staged == nil || !staged.refresh) && !need.moved && maps.Equal(need.secrets, before.Spec.Secrets) && maps.Equal(need.refs, before.Spec.SecretRefs):
		// The spec holds only empty values of existing keys.
		next.Own, next.sealed = present.Own, present.sealed
	default:
		return need
	}
	if next.sealed != "" && len(next.Contexts)+len(next.Imports) > 0 {
		return need
	}
	s.Secrets, err = next.text()
	if err != nil {
		return err
	}
	return f.configuration.Bind(ctx, s.ID, usesOf(s.Spec))
}

// same reports whether a document created for u is the one that o needs.
func (u *unstaged) same(o *unstaged) bool {
	return u.own == o.own && u.sealed == o.sealed && u.service.Project == o.service.Project &&
		reflect.DeepEqual(u.secrets, o.secrets) && maps.Equal(u.refs, o.refs)
}

func (f *Fleet) valueSets(ctx context.Context, s StoredService) (contexts, imports map[string]string, err error) {
	stacks := stacksOf(s.Spec)
	if len(s.Spec.Contexts) == 0 && len(stacks) == 0 {
		return nil, nil, nil
	}
	return f.configuration.ValueSets(ctx, s.ProjectID, s.Spec.Contexts, stacks)
}

// stacksOf returns the names of the stacks that a spec imports.
func stacksOf(s Spec) []string {
	var names []string
	for _, i := range s.Imports {
		names = append(names, i.Stack)
	}
	return names
}

// Dependencies decides about services that depend on services of other clusters, which
// agents cannot see; hub/fleet/depend implements it.
type Dependencies interface {
	// Check returns Invalid when the service and others would wait for each other.
	Check(ctx context.Context, cluster Cluster, name string, s Spec) error
	// Waits says what a service waits for, empty for nothing. In a transaction that
	// writes, a report that may change the answer makes it retry.
	Waits(ctx context.Context, s Service, writing bool) (string, error)
	// Ready wakes those that may wait for services, in the transaction of ctx.
	Ready(ctx context.Context, services []Ref) error
}

// waits reports whether a service waits for something other than content.
func (f *revisions) waits(ctx context.Context, s StoredService) (bool, error) {
	missing, err := waitsFor(s)
	if err != nil || len(missing) > 0 {
		return true, err
	}
	why, err := f.dependencies.Waits(ctx, s.Service, true)
	return why != "", err
}

// waitsFor returns the outputs that a service imports and that do not exist, or
// that services of its project may not use.
func waitsFor(s StoredService) (missing []string, err error) {
	if len(s.Spec.Imports) == 0 {
		return nil, nil
	}
	v, err := parseVersion(s.Secrets)
	for _, name := range stacksOf(s.Spec) {
		if v.Imports[name] == "" {
			missing = append(missing, name)
		}
	}
	return missing, err
}

// usesOf returns everything from which a spec takes values, each once.
func usesOf(s Spec) []Use {
	var uses []Use
	add := func(u Use) {
		if !slices.Contains(uses, u) {
			uses = append(uses, u)
		}
	}
	for _, name := range s.Contexts {
		add(Use{UseContext, name})
	}
	for _, name := range stacksOf(s) {
		add(Use{UseOutputs, name})
	}
	for _, r := range s.SecretRefs {
		add(Use{UseReference, r.Backend + ":" + r.Path})
	}
	for _, d := range s.Dependencies {
		if d.Cluster != "" {
			add(Use{UseService, Ref{d.Cluster, d.Name}.String()})
		}
	}
	return uses
}

// keysOnly returns the keys with empty values, nil for none.
func keysOnly(values map[string]string) map[string]string {
	if len(values) == 0 {
		return nil
	}
	keys := make(map[string]string, len(values))
	for key := range values {
		keys[key] = ""
	}
	return keys
}

// Reconfigure updates a service's configuration with the values that it takes
// from elsewhere. With refresh, its references are read again. A service whose
// values did not change, or that is gone, is left alone. It reports whether
// anything changed. by is the author of the change to those values.
func (f *Fleet) Reconfigure(ctx context.Context, serviceID, by string, refresh bool) (changed bool, err error) {
	err = f.staged(ctx, &staging{refresh: refresh}, func(ctx context.Context) error {
		changed = false
		before, err := f.store.ServiceByID(ctx, serviceID)
		if err != nil || before.Deleting != "" {
			return err
		}
		cluster, err := f.store.ClusterByID(ctx, before.ClusterID)
		if err != nil {
			return err
		}
		s := before
		if err := f.takeConfiguration(ctx, &s, before.Service); err != nil {
			return err
		}
		if s.Secrets == before.Secrets {
			return nil
		}
		changed, s.UpdatedAt = true, f.now()
		if s.PinnedRevision == 0 {
			if err := f.redeliver(ctx, &s, before, cluster, CauseConfiguration, by); err != nil {
				return err
			}
		}
		if err := f.store.UpdateService(ctx, s); err != nil {
			return err
		}
		return recordService(ctx, s.Service, "service.reconfigured", by, "values that it takes from elsewhere changed")
	})
	if errcode.Is(err, errcode.NotFound) {
		return false, nil
	}
	return changed, err
}
