package globals

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/liquid"
)

const (
	// sliceSteps are those of one slice, about 200 ms: the other projects wait for it.
	sliceSteps = 4 * cost.Budget
	// keptRenderings is the size of those that are kept, in bytes.
	keptRenderings = 32 << 20
)

// renderKey is a hash of all that the Liquid of a template sees on a cluster.
type renderKey [sha256.Size]byte

// rendering is what the Liquid of a template is on a cluster: the texts of the fields in
// which it acts, or why there are none.
type rendering struct {
	texts []string
	err   error
}

// prepared are renderings for one piece of work. They are made outside of a transaction,
// which others wait for, and looked up in it.
type prepared struct {
	*Globals
	own       map[renderKey]rendering
	templates map[string]*template
	// steps are those of the present slice.
	steps int
}

func (g *Globals) prepare() *prepared {
	return &prepared{Globals: g, own: map[renderKey]rendering{}, templates: map[string]*template{}}
}

// slice begins a slice.
func (p *prepared) slice() { p.steps = 0 }

// spent reports whether others have their turn before more is rendered.
func (p *prepared) spent() bool { return p.steps >= sliceSteps }

// unrendered ends a transaction which needs renderings that there are not yet.
type unrendered struct {
	ready    *prepared
	global   Global
	clusters []fleet.Cluster
}

// Error says what a caller sees if it is the same each time.
func (u *unrendered) Error() string {
	return noun(u.global.Name) + " or its clusters change faster than its Liquid is rendered; try again"
}

// Unwrap returns the error for callers who know none of renderings.
func (u *unrendered) Unwrap() error {
	return errcode.New(errcode.Conflict, "%s or its clusters change faster than its Liquid is rendered; try again", noun(u.global.Name))
}

// render renders what is missing, and reports whether the slice had time for all.
func (u *unrendered) render(ctx context.Context) (bool, error) {
	for _, c := range u.clusters {
		if u.ready.spent() {
			return false, nil
		}
		if err := u.ready.renderOn(ctx, u.global, c); err != nil {
			return false, err
		}
	}
	return true, nil
}

// render renders what match will need, and returns the clusters for which the slice had
// time.
func (g *Globals) render(ctx context.Context, v Global, clusters []fleet.Cluster, ready *prepared) ([]fleet.Cluster, error) {
	var selected []fleet.Cluster
	for _, c := range clusters {
		if v.selects(c) {
			selected = append(selected, c)
		}
	}
	parts, err := g.parts(ctx, v, selected)
	if err != nil {
		return nil, err
	}
	of := make(map[string]Global, len(selected))
	for _, p := range parts {
		for _, c := range p.clusters {
			of[c.ID] = p.global
		}
	}
	for i, c := range clusters {
		if ready.spent() {
			return clusters[:i], nil
		}
		if version, ok := of[c.ID]; ok {
			if err := ready.renderOn(ctx, version, c); err != nil {
				return nil, err
			}
		}
	}
	return clusters, nil
}

// renderOn renders a template on a cluster on which it was not rendered yet.
func (p *prepared) renderOn(ctx context.Context, v Global, c fleet.Cluster) error {
	if !hasLiquid(v.Spec) {
		return nil
	}
	t, err := p.template(v)
	if err != nil {
		return err
	}
	key, err := t.key(c)
	if err != nil {
		return err
	}
	made, known := p.own[key]
	if !known {
		made, known = p.renderings.Get(key)
	}
	if !known {
		t.stop = ctx.Err
		made.texts, made.err = t.on(c)
		if ctx.Err() != nil {
			return ctx.Err() // the template is not to blame
		}
		p.steps += t.engine.Steps()
		p.renderings.Put(key, made, made.size())
	}
	p.own[key] = made
	return nil
}

// template is a version of a global service, ready to be rendered.
func (p *prepared) template(v Global) (*template, error) {
	name := fmt.Sprint(v.payload(), v.Version)
	if t := p.templates[name]; t != nil {
		return t, nil
	}
	t, err := newTemplate(v)
	if err == nil {
		p.templates[name] = t
	}
	return t, err
}

func (r rendering) size() int {
	size := 300
	for _, text := range r.texts {
		size += len(text) + 16
	}
	return size
}

// take looks up the renderings of the clusters to write, or returns which are missing.
func (m *matching) take(ready *prepared) error {
	if !m.liquid || len(m.write) == 0 {
		return nil
	}
	t, err := ready.template(m.global)
	if err != nil {
		return err
	}
	m.rendered = make(map[string]rendering, len(m.write))
	var missing []fleet.Cluster
	for _, p := range m.write {
		key, err := t.key(p.cluster)
		if err != nil {
			return err
		}
		made, known := ready.own[key]
		if !known {
			missing = append(missing, p.cluster)
		}
		m.rendered[p.cluster.ID] = made
	}
	if len(missing) > 0 {
		return &unrendered{ready: ready, global: m.global, clusters: missing}
	}
	return nil
}

// template is a global service whose Liquid is rendered.
type template struct {
	Global
	hash   renderKey
	engine *liquid.Engine
	stop   func() error
}

func newTemplate(v Global) (*template, error) {
	text, err := json.Marshal([]any{v.Name, v.Context, v.UpdatedAt, v.Spec})
	return &template{Global: v, hash: sha256.Sum256(text)}, err
}

// key names the rendering on a cluster.
func (t *template) key(c fleet.Cluster) (key renderKey, err error) {
	text, err := json.Marshal([]any{c.Data(), t.tags(c)})
	return sha256.Sum256(append(t.hash[:], text...)), err
}

// on renders the fields for a cluster. Invalid with the field.
func (t *template) on(c fleet.Cluster) (texts []string, err error) {
	values, err := object(t.Context)
	if err != nil {
		return nil, err
	}
	d := c.Data()
	metadata, err := object(d.Metadata)
	if err != nil {
		return nil, err
	}
	tags := map[string]any{}
	for key, value := range t.tags(c) {
		tags[key] = value
	}
	if t.engine == nil {
		withStop := limits
		withStop.Stop = func() error { return t.stop() }
		t.engine = liquid.New(nil, clock.FromMicros(t.UpdatedAt)).Limit(withStop)
	}
	t.engine.With(map[string]any{"context": values, "cluster": map[string]any{
		"id": d.ID, "handle": d.Handle, "name": d.Name, "tags": tags, "metadata": metadata, "distro": d.Distro, "version": d.KubernetesMinor,
	}})
	err = fields(&t.Spec, func(at string, text *string) error {
		rendered := *text
		if isLiquid(*text) {
			var err error
			if rendered, err = render(t.engine, *text); err != nil {
				return errcode.New(errcode.Invalid, "template.%s: %w", at, err)
			}
		}
		texts = append(texts, rendered)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out, err := t.made(rendering{texts: texts})
	if err == nil {
		err = specrules.Validate(t.Name, out)
	}
	return texts, err
}

// made is the template's spec with a rendering.
func (g Global) made(r rendering) (fleet.Spec, error) {
	if r.err != nil {
		return g.Spec, r.err
	}
	out, err := copyOf(g.Spec)
	if err != nil {
		return out, err
	}
	left := r.texts
	err = fields(&out, func(at string, text *string) error {
		if len(left) == 0 {
			return errors.New(at + " was not rendered")
		}
		*text, left = left[0], left[1:]
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("make a template: %w", err)
	}
	return out, nil
}
