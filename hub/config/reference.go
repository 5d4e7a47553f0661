package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

// Read implements fleet.Configuration.
func (k *Keeper) Read(ctx context.Context, project string, refs map[string]fleet.SecretRef) (map[string]string, error) {
	type place struct{ backend, path string }
	read := map[place]map[string]string{}
	values := make(map[string]string, len(refs))
	for _, key := range slices.Sorted(maps.Keys(refs)) {
		r := refs[key]
		at := place{r.Backend, r.Path}
		found, ok := read[at]
		if !ok {
			var err error
			if found, err = k.readReference(ctx, project, r); err != nil {
				return nil, explainReference(key, err)
			}
			read[at] = found
		}
		name := r.Key
		if name == "" {
			name = key
		}
		value, ok := found[name]
		if !ok {
			return nil, errcode.New(errcode.Invalid, "secretRefs.%s: %s has no key %q; it has %s", key, r, name, strings.Join(slices.Sorted(maps.Keys(found)), ", "))
		}
		values[key] = value
	}
	return values, nil
}

// explainReference adds the field to an error. A missing value is the caller's
// mistake; an unavailable backend is not.
func explainReference(key string, err error) error {
	code := errcode.Of(err)
	if code == errcode.NotFound {
		code = errcode.Invalid
	}
	return errcode.New(code, "secretRefs.%s: %w", key, err)
}

func (k *Keeper) readReference(ctx context.Context, project string, r fleet.SecretRef) (map[string]string, error) {
	p, err := k.referred(ctx, r.Backend)
	if err != nil {
		return nil, err
	}
	if err := p.allows(project, r.Path); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	values, err := p.Backend.Read(ctx, r.Path)
	if err != nil {
		return nil, fmt.Errorf("backend %s: %w", p.Name, err)
	}
	return values, nil
}

// referred finds the backend of a reference.
func (k *Keeper) referred(ctx context.Context, name string) (Place, error) {
	if name == "" {
		standard, err := k.defaultName(ctx)
		if err != nil {
			return Place{}, err
		}
		name = standard
	}
	p, ok := k.places[name]
	if !ok {
		return p, errcode.New(errcode.Invalid, "backend %q does not exist; axle backends list lists all", name)
	}
	if name == BuiltIn {
		return p, errcode.New(errcode.Invalid, "the built-in backend holds only the hub's own values; name another backend, or set the value with axle services config set --secret")
	}
	return p, nil
}

var errOutside = errors.New("services of this project may not refer to that path; the backend's allow list in the file of --config-backends lists the permitted ones")

// allows returns why a service of a project may not refer to a path: the hub
// reads with its own rights, so it must decide for whom.
func (p Place) allows(project, path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if part == ".." || part == "." {
			return errcode.New(errcode.Invalid, "path %.200q has a part %q", path, part)
		}
	}
	if strings.HasPrefix(strings.TrimLeft(path, "/"), p.Prefix+"cfg-") {
		return errcode.New(errcode.Forbidden, "the hub's own documents cannot be referred to")
	}
	for _, begin := range p.Allow {
		if strings.HasPrefix(path, strings.ReplaceAll(begin, "{project}", project)) {
			return nil
		}
	}
	if len(p.Allow) > 0 {
		return errcode.New(errcode.Forbidden, "%w", errOutside)
	}
	return nil
}

// Bind implements fleet.Configuration.
func (k *Keeper) Bind(ctx context.Context, serviceID string, uses []fleet.Use) error {
	return k.config.Uses.PutUses(ctx, serviceID, uses)
}
