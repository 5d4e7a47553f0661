package preview

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/difference"
	"github.com/axle-cd/axle/agent/generated"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/agent/testrun"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tarball"
)

// Cluster answers a render's questions.
type Cluster interface {
	Lookup(ctx context.Context, permit tenancy.Permit, key render.LookupKey) ([]byte, error)
	Capabilities(ctx context.Context) (caps render.Capabilities, partial string, err error)
}

// Differ compares; *apply.Engine implements it.
type Differ interface {
	Diff(ctx context.Context, permit tenancy.Permit, service apply.Service, objects []*unstructured.Unstructured) (difference.Comparison, error)
}

// Renderer renders; *render.Runner implements it.
type Renderer interface {
	Render(ctx context.Context, p render.Pass) (render.Result, error)
}

// Answerer answers previews; *Maker implements it. Errors are retried.
type Answerer interface {
	// Answer answers those after a request and returns the last one answered.
	Answer(ctx context.Context, serviceID string, all []*agentv1.Preview, after int64, send func(context.Context, *agentv1.ReportDiffRequest) error) (int64, error)
}

// Maker makes answers. It is safe for concurrent use.
type Maker struct {
	Gate    *tenancy.Gate
	Cache   *cache.Cache
	Tarball func(ctx context.Context, r tarball.Request) (*tarball.Download, error)
	Render  Renderer
	Cluster Cluster
	Differ  Differ
	// Tests: objects marked as tests are run, not applied.
	Tests bool
	Clock clock.Clock
}

// Only reports whether every diff requested since a request is a preview.
func Only(spec *agentv1.ServiceSpec, diffed int64) bool {
	asked := spec.GetDiffRequest() - diffed
	for _, p := range spec.GetPreviews() {
		if p.GetRequest() > diffed && p.GetRequest() <= spec.GetDiffRequest() {
			asked--
		}
	}
	return asked <= 0
}

// Answer makes and sends the answers to the previews after a request, and returns the
// last one answered. After an error the others are left for later.
func (m *Maker) Answer(ctx context.Context, serviceID string, all []*agentv1.Preview, after int64, send func(context.Context, *agentv1.ReportDiffRequest) error) (int64, error) {
	for _, p := range all {
		if p.GetRequest() <= after {
			continue
		}
		report, err := m.Make(ctx, serviceID, p)
		if err == nil {
			err = send(ctx, report)
		}
		if err != nil {
			return after, err
		}
		after = p.GetRequest()
	}
	return after, nil
}

// Make answers a preview of a service. An error is Unavailable.
func (m *Maker) Make(ctx context.Context, serviceID string, p *agentv1.Preview) (*agentv1.ReportDiffRequest, error) {
	spec := p.GetSpec()
	report := &agentv1.ReportDiffRequest{ServiceId: serviceID, Request: p.GetRequest(), Preview: true, Revision: spec.GetDisplay().GetRevision(),
		SourceRevision: spec.GetDisplay().GetSourceRevision(), MadeAt: clock.Micros(m.Clock.Now())}
	found, err := m.compare(ctx, serviceID, p)
	if err == nil {
		report.Differences, err = difference.Pack(found)
	}
	if errcode.Is(err, errcode.Unavailable) || ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		report.Error = apply.FromSpec(spec, "").Scrub.String(errcode.Message(err))
	}
	return report, nil
}

func (m *Maker) compare(ctx context.Context, serviceID string, p *agentv1.Preview) (difference.Comparison, error) {
	spec := p.GetSpec()
	if spec.GetId() != serviceID || len(p.GetParts()) == 0 {
		return difference.Comparison{}, errcode.New(errcode.Invalid, "the hub sent a preview for another service, or without content")
	}
	permit, err := m.Gate.Permit(tenancy.FromSpec(spec))
	if err != nil {
		return difference.Comparison{}, err
	}
	caps, partial, err := m.Cluster.Capabilities(ctx)
	if err != nil {
		return difference.Comparison{}, errcode.New(errcode.Unavailable, "cannot read from the cluster's API server: %w", err)
	}
	reads := &secrets{cluster: m.Cluster, permit: permit, values: map[string]string{}}
	objects, warnings, err := m.render(ctx, p, caps, reads)
	if err != nil {
		return difference.Comparison{}, err
	}
	service := apply.FromSpec(spec, p.GetParts()[0].GetDigest())
	service.Revision = revisionOf(p)
	service.Partial, service.LeftOut, service.LookedUp = partial, manifest.PartsLeftOut(warnings), reads.seen()
	if m.Tests {
		_, objects = testrun.Split(objects)
	}
	return m.Differ.Diff(ctx, permit, service, objects)
}

// revisionOf names the content of a preview, so that hooks that a change would run
// are shown as running.
func revisionOf(p *agentv1.Preview) string {
	text := "preview"
	for _, part := range p.GetParts() {
		text += " " + part.GetPath() + "=" + part.GetDigest()
	}
	return text
}

func (m *Maker) render(ctx context.Context, p *agentv1.Preview, caps render.Capabilities, reads *secrets) ([]*unstructured.Unstructured, []string, error) {
	var parts []render.Part
	dir := ""
	for i, part := range p.GetParts() {
		tree, err := m.Cache.Tree(ctx, fmt.Sprintf("preview/%s/%d", p.GetSpec().GetId(), i), digest.Digest(part.GetDigest()), m.Tarball)
		if err != nil {
			return nil, nil, err
		}
		defer tree.Release() //nolint:gocritic // a handful, held until the render is over
		if i == 0 {
			dir = tree.Dir
		}
		parts = append(parts, render.Part{Name: part.GetName(), Dir: tree.Dir, Path: part.GetPath(), Entry: part.GetEntry()})
	}
	pass, err := render.FromSpec(p.GetSpec(), dir)
	if err != nil {
		return nil, nil, err
	}
	if len(parts) > 1 || parts[0].Path != "" {
		pass.Parts = parts
	}
	pass.Capabilities, pass.Lookup, pass.Tests = caps, reads, m.Tests
	result, err := m.Render.Render(ctx, pass)
	if err != nil {
		return nil, nil, err
	}
	objects, err := result.Decoded()
	if err != nil {
		return nil, nil, err
	}
	kept := generated.Service{ID: p.GetSpec().GetId(), Namespace: p.GetSpec().GetNamespace(), Revision: revisionOf(p)}
	return objects, result.Warnings, generated.Keep(ctx, reads, kept, result.Objects, objects)
}

// secrets answers lookups as the permit allows and records the content of Secrets.
type secrets struct {
	cluster Cluster
	permit  tenancy.Permit

	mu     sync.Mutex
	values map[string]string
}

// Lookup implements render.Lookup.
func (s *secrets) Lookup(ctx context.Context, key render.LookupKey) ([]byte, error) {
	raw, err := s.cluster.Lookup(ctx, s.permit, key)
	if err == nil && key.Kind == "Secret" {
		s.note(raw)
	}
	return raw, err
}

func (s *secrets) note(raw []byte) {
	type secret struct {
		Metadata struct{ Namespace, Name string }
		Data     map[string]string
	}
	var one struct {
		secret
		Items []secret
	}
	if json.Unmarshal(raw, &one) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range append(one.Items, one.secret) {
		for key, value := range o.Data {
			name := "looked up " + o.Metadata.Namespace + "/" + o.Metadata.Name + "." + key
			s.values[name+" (base64)"] = value
			if plain, err := base64.StdEncoding.DecodeString(value); err == nil {
				s.values[name] = string(plain)
			}
		}
	}
}

func (s *secrets) seen() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values
}
