package console

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxValues is how long the values of a context may be to be read at all: twice what
// hub/config keeps, whose refusal says how many bytes those are.
const maxValues = 512 << 10

// Values is the part of hub/config that people use.
type Values interface {
	ListValueSets(ctx context.Context, kind string) ([]config.ValueSetView, error)
	ValueSet(ctx context.Context, kind, name string) (config.ValueSetView, error)
	SetValueSet(ctx context.Context, c config.ValueSetChange) (config.ValueSetView, error)
	DeleteValueSet(ctx context.Context, kind, name, by string) error
}

// Movable lists the backends of values.
type Movable interface {
	Backends(ctx context.Context) ([]config.PlaceView, error)
	Migrate(ctx context.Context, by, from, to string) (config.Migration, error)
	Migration(ctx context.Context) (config.Migration, error)
	RotateKey(ctx context.Context) (values int64, keyID string, err error)
}

// Config returns what templates see as configuration.
func (s *services) Config(ctx context.Context, r *connect.Request[hubv1.GetServiceConfigRequest]) (*connect.Response[hubv1.ServiceConfig], error) {
	revision, values, err := s.config.Fleet.ServiceConfig(ctx, ref(r.Msg.GetRef()))
	if err != nil {
		return nil, err
	}
	changes, err := s.mayChange(ctx, ref(r.Msg.GetRef()))
	if err != nil {
		return nil, err
	}
	out := &hubv1.ServiceConfig{Revision: revision}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := &hubv1.ConfigValue{Key: key}
		hashes := values[key].Hashes
		if changes { // until Terraform's states of version 1 are gone
			hashes = values[key].Former
		}
		for i, l := range values[key].Layers {
			value.Layers = append(value.Layers, &hubv1.ConfigLayer{
				Layer: string(l.Layer), Source: l.Source, Value: l.Value, Secret: l.Secret, Hash: hashes[i],
			})
		}
		out.Values = append(out.Values, value)
	}
	return connect.NewResponse(out), nil
}

// mayChange reports whether the caller may change a service.
func (s *services) mayChange(ctx context.Context, of fleet.Ref) (bool, error) {
	_, scope, err := s.config.Fleet.Declared(ctx, of)
	return err == nil && s.config.Identity.Authorize(ctx, caller(ctx), identity.ActionWrite, scope) == nil, err
}

func valueSetMessage(v config.ValueSetView) (*hubv1.Context, error) {
	values := v.Values
	if values == nil {
		values = map[string]any{}
	}
	text, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	return &hubv1.Context{
		Name: v.Name, Project: v.Project, Values: string(text), Secrets: v.Secrets, Services: int32(v.Services),
		UpdatedAt: v.UpdatedAt, UpdatedBy: v.UpdatedBy, Version: v.Version,
		ManagedBy: management.Out(v.ManagedBy),
	}, nil
}

// valueSetAnswer returns a value set with the number of uses that the caller may see.
func (s *Server) valueSetAnswer(ctx context.Context, v config.ValueSetView, err error) (*connect.Response[hubv1.Context], error) {
	if err != nil {
		return nil, err
	}
	reach, err := s.readable(ctx)
	if err != nil {
		return nil, err
	}
	uses, err := s.config.UsesOfValueSets(ctx, v.Kind, reach)
	if err != nil {
		return nil, err
	}
	v.Services = uses[v.Name]
	out, err := valueSetMessage(v)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(out), nil
}

func (s *Server) valueSetList(ctx context.Context, kind, tool, name string) ([]*hubv1.Context, error) {
	if err := managed.Filter(tool); err != nil {
		return nil, err
	}
	all, err := s.config.Values.ListValueSets(ctx, kind)
	if err != nil {
		return nil, err
	}
	reach, err := s.readable(ctx)
	if err != nil {
		return nil, err
	}
	uses, err := s.config.UsesOfValueSets(ctx, kind, reach)
	if err != nil {
		return nil, err
	}
	var out []*hubv1.Context
	for _, v := range all {
		if name != "" && v.Name != name || !reach.Covers(valueSetScope(v.ValueSetRow)) || !v.ManagedBy.Selects(tool) {
			continue
		}
		v.Services = uses[v.Name]
		one, err := valueSetMessage(v)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func (s *Server) valueSetChange(ctx context.Context, kind string, m *hubv1.Context, global bool) (config.ValueSetChange, error) {
	c := config.ValueSetChange{Kind: kind, Name: m.GetName(), Global: global, By: caller(ctx).By(), ValueSet: fleet.ValueSet{Secrets: m.GetSecrets()}}
	if global && m.GetProject() != "" {
		return c, errcode.New(errcode.Invalid, "global: cannot be combined with the project %.80q; give one of the two", m.GetProject())
	}
	if text := m.GetValues(); text != "" {
		err := bounded.ReadJSON(strings.NewReader(text), &c.Values, maxValues)
		if errors.Is(err, bounded.ErrTooLarge) {
			return c, errcode.New(errcode.Exhausted, "values: %w; give fewer, or split them between two contexts", err)
		}
		if err != nil {
			return c, errcode.New(errcode.Invalid, "values: must be a JSON object")
		}
	}
	if name := m.GetProject(); name != "" {
		p, err := s.config.Fleet.Project(ctx, name)
		if err != nil {
			return c, err
		}
		c.ProjectID = p.ID
	}
	return c, nil
}

type contexts struct{ *Server }

func (s *contexts) List(ctx context.Context, r *connect.Request[hubv1.ListContextsRequest]) (*connect.Response[hubv1.ListContextsResponse], error) {
	all, err := s.valueSetList(ctx, config.KindContext, r.Msg.GetManagedByTool(), "")
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ListContextsResponse{Contexts: all}), nil
}

func (s *contexts) Get(ctx context.Context, r *connect.Request[hubv1.GetContextRequest]) (*connect.Response[hubv1.Context], error) {
	v, err := s.config.Values.ValueSet(ctx, config.KindContext, r.Msg.GetName())
	return s.valueSetAnswer(ctx, v, err)
}

func (s *contexts) Create(ctx context.Context, r *connect.Request[hubv1.CreateContextRequest]) (*connect.Response[hubv1.Context], error) {
	c, err := s.valueSetChange(ctx, config.KindContext, r.Msg.GetContext(), false)
	if err != nil {
		return nil, err
	}
	c.Create = true
	v, err := s.config.Values.SetValueSet(ctx, c)
	return s.valueSetAnswer(ctx, v, err)
}

func (s *contexts) Update(ctx context.Context, r *connect.Request[hubv1.UpdateContextRequest]) (*connect.Response[hubv1.Context], error) {
	c, err := s.valueSetChange(ctx, config.KindContext, r.Msg.GetContext(), r.Msg.GetGlobal())
	if err != nil {
		return nil, err
	}
	c.Update, c.Merge, c.Unset = true, r.Msg.GetMerge(), r.Msg.GetUnset()
	v, err := s.config.Values.SetValueSet(ctx, c)
	return s.valueSetAnswer(ctx, v, err)
}

func (s *contexts) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteContextRequest]) (*connect.Response[hubv1.DeleteContextResponse], error) {
	return connect.NewResponse(&hubv1.DeleteContextResponse{}), s.config.Values.DeleteValueSet(ctx, config.KindContext, r.Msg.GetName(), caller(ctx).By())
}

type outputs struct{ *Server }

func (s *outputs) List(ctx context.Context, r *connect.Request[hubv1.ListOutputsRequest]) (*connect.Response[hubv1.ListOutputsResponse], error) {
	all, err := s.valueSetList(ctx, config.KindOutputs, r.Msg.GetManagedByTool(), r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ListOutputsResponse{Outputs: all}), nil
}

func (s *outputs) Put(ctx context.Context, r *connect.Request[hubv1.PutOutputsRequest]) (*connect.Response[hubv1.Context], error) {
	c, err := s.valueSetChange(ctx, config.KindOutputs, r.Msg.GetOutputs(), r.Msg.GetGlobal())
	if err != nil {
		return nil, err
	}
	v, err := s.config.Values.SetValueSet(ctx, c)
	return s.valueSetAnswer(ctx, v, err)
}

func (s *outputs) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteOutputsRequest]) (*connect.Response[hubv1.DeleteOutputsResponse], error) {
	return connect.NewResponse(&hubv1.DeleteOutputsResponse{}), s.config.Values.DeleteValueSet(ctx, config.KindOutputs, r.Msg.GetName(), caller(ctx).By())
}

type backends struct{ *Server }

func (s *backends) List(ctx context.Context, _ *connect.Request[hubv1.ListBackendsRequest]) (*connect.Response[hubv1.ListBackendsResponse], error) {
	all, err := s.config.Movable.Backends(ctx)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListBackendsResponse{}
	for _, b := range all {
		out.Backends = append(out.Backends, &hubv1.Backend{
			Name: b.Name, Type: b.Type, Default: b.Default, ReadOnly: b.ReadOnly, Problem: b.Problem, Documents: b.Documents,
		})
	}
	return connect.NewResponse(out), nil
}

func migrationAnswer(m config.Migration, err error) (*connect.Response[hubv1.Migration], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.Migration{
		From: m.From, To: m.To, Phase: m.Phase, Copied: m.Copied, Deleted: m.Deleted, Left: m.Left, Problem: m.Problem,
		StartedAt: m.StartedAt, FinishedAt: m.FinishedAt,
	}), nil
}

func (s *backends) Migrate(ctx context.Context, r *connect.Request[hubv1.MigrateRequest]) (*connect.Response[hubv1.Migration], error) {
	return migrationAnswer(s.config.Movable.Migrate(ctx, caller(ctx).By(), r.Msg.GetFrom(), r.Msg.GetTo()))
}

func (s *backends) GetMigration(ctx context.Context, _ *connect.Request[hubv1.GetMigrationRequest]) (*connect.Response[hubv1.Migration], error) {
	return migrationAnswer(s.config.Movable.Migration(ctx))
}

func (s *backends) RotateKey(ctx context.Context, _ *connect.Request[hubv1.RotateKeyRequest]) (*connect.Response[hubv1.RotateKeyResponse], error) {
	values, keyID, err := s.config.Movable.RotateKey(ctx)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.RotateKeyResponse{Values: values, KeyId: keyID}), nil
}
