package config

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// BuiltIn is the name of the backend that every hub has.
const BuiltIn = "built-in"

// Backend is a store of values. The paths are the backend's own.
type Backend interface {
	// Read returns the values at a path. NotFound.
	Read(ctx context.Context, path string) (map[string]string, error)
	// Write replaces the values at a path.
	Write(ctx context.Context, path string, values map[string]string) error
	// Delete removes a path; a missing one is no error.
	Delete(ctx context.Context, path string) error
	// Check returns why the backend cannot be read, nil when it can.
	Check(ctx context.Context) error
	// Limit is how many bytes one path can hold, 0 for a read-only backend.
	Limit() int
}

// Place is a backend under its name for services and people.
type Place struct {
	Name string
	// Type is vault, kubernetes, aws, gcp, azure or sops.
	Type    string
	Backend Backend
	// Prefix is the prefix of the hub's own documents.
	Prefix string
	// Allow are the path prefixes that services may refer to, with {project}
	// for the service's project; empty allows all but the hub's own documents.
	Allow []string
}

// Services is this package's view of the fleet.
type Services interface {
	// Reconfigure updates a service with what it uses.
	Reconfigure(ctx context.Context, serviceID, by string, refresh bool) (changed bool, err error)
}

// Config holds a Keeper's dependencies. Default, Refresh, Clock and Log may be
// zero.
type Config struct {
	Documents DocumentStore
	Inventory DocumentInventory
	Values    ValueStore
	Sets      ValueSetStore
	Uses      UseStore
	Tells     TellStore
	Settings  SettingStore
	Writer    Writer
	Sealer    Sealer
	// Places are the backends beside the built-in one.
	Places []Place
	// Default is the backend of documents until a migration changes it; empty
	// is the built-in backend.
	Default string
	// Refresh is the time between checks of what services refer to; zero is 2
	// min.
	Refresh time.Duration
	Clock   clock.Clock
	Log     *slog.Logger
}

// Sealer encrypts text at rest.
type Sealer interface {
	Seal(plain []byte, purpose string) string
	Open(sealed, purpose string) ([]byte, error)
	// KeyID names the key that seals.
	KeyID() string
}

// Keeper stores and reads values.
type Keeper struct {
	config Config
	places map[string]Place

	mu     sync.Mutex
	known  map[string][]byte // cached documents
	size   int
	swept  string            // the document at which the last sweep stopped
	seen   map[string]string // hashes of what references held
	wake   chan struct{}
	moving chan struct{}
}

var _ fleet.Configuration = (*Keeper)(nil)

// New checks the names. It calls no backend.
func New(c Config) (*Keeper, error) {
	for _, store := range []any{c.Documents, c.Inventory, c.Values, c.Sets, c.Uses, c.Tells, c.Settings} {
		if store == nil {
			return nil, errors.New("config: all stores must be set")
		}
	}
	if c.Writer == nil || c.Sealer == nil {
		return nil, errors.New("config: Writer and Sealer must be set")
	}
	if c.Default == "" {
		c.Default = BuiltIn
	}
	if c.Refresh <= 0 {
		c.Refresh = 2 * time.Minute
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{
		config: c, places: map[string]Place{}, known: map[string][]byte{}, seen: map[string]string{},
		wake: make(chan struct{}, 1), moving: make(chan struct{}, 1),
	}
	k.places[BuiltIn] = Place{Name: BuiltIn, Type: BuiltIn, Backend: &builtIn{store: c.Values, writer: c.Writer, sealer: c.Sealer}}
	for _, p := range c.Places {
		if _, twice := k.places[p.Name]; twice || p.Name == "" || p.Backend == nil {
			return nil, errcode.New(errcode.Invalid, "backend %q: each backend needs a unique name", p.Name)
		}
		k.places[p.Name] = p
	}
	d, ok := k.places[c.Default]
	if !ok {
		return nil, errcode.New(errcode.Invalid, "the default backend %q is not one of %v", c.Default, slices.Sorted(maps.Keys(k.places)))
	}
	if d.Backend.Limit() == 0 {
		return nil, errcode.New(errcode.Invalid, "backend %q is read-only, so it cannot be the default", c.Default)
	}
	return k, nil
}

func (k *Keeper) now() int64 { return clock.Micros(k.config.Clock.Now()) }

// place returns a configured backend.
func (k *Keeper) place(name string) (Place, error) {
	p, ok := k.places[name]
	if !ok {
		return p, errcode.New(errcode.Unavailable, "backend %q is not configured on this hub; put it back into the file of --config-backends", name)
	}
	return p, nil
}

// defaultSetting is the setting with the backend that a migration made the
// default.
const defaultSetting = "config_default_backend"

// defaultName returns the backend for new documents.
func (k *Keeper) defaultName(ctx context.Context) (string, error) {
	name, err := k.config.Settings.Setting(ctx, defaultSetting)
	if name == "" {
		name = k.config.Default
	}
	return name, err
}

// PlaceView is a backend as people see it.
type PlaceView struct {
	Name, Type        string
	Default, ReadOnly bool
	Documents         int64
	// Problem is empty when the backend answers.
	Problem string
}

// checkTimeout limits a check of a backend.
const checkTimeout = 10 * time.Second

// Backends lists all backends with their state, in order of name.
func (k *Keeper) Backends(ctx context.Context) ([]PlaceView, error) {
	standard, err := k.defaultName(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := k.config.Inventory.CountDocuments(ctx)
	if err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Keys(k.places))
	for name := range counts {
		if _, known := k.places[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	views := make([]PlaceView, len(names))
	var checks sync.WaitGroup
	for i, name := range names {
		p, err := k.place(name)
		views[i] = PlaceView{Name: name, Type: p.Type, Default: name == standard, Documents: counts[name]}
		if err != nil {
			views[i].Problem = errcode.Message(err)
			continue
		}
		views[i].ReadOnly = p.Backend.Limit() == 0
		checks.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, checkTimeout)
			defer cancel()
			if err := p.Backend.Check(ctx); err != nil {
				views[i].Problem = errcode.Message(err)
			}
		})
	}
	checks.Wait()
	return views, nil
}
