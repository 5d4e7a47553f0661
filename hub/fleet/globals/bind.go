package globals

import (
	"context"
	"errors"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

// bind binds the sources of a changed template to repositories, once for all targets,
// with the rights of the caller of the context.
func (g *Globals) bind(ctx context.Context, next *Global, before Global) (err error) {
	var had fleet.Bound
	if before.ID != "" && before.Finds() == next.Finds() {
		had = fleet.Bound{Spec: before.Spec, Repositories: before.Repositories}
	}
	next.Repositories, err = g.config.Fleet.BindSources(ctx, next.Spec, next.Finds(), had, next.makesNamespace())
	return err
}

// bindFormer binds a template of before bindings were kept, in the transaction of ctx:
// to what its targets follow, otherwise to what its references find now.
func (g *Globals) bindFormer(ctx context.Context, v *Global) error {
	if v.Repositories != nil {
		return nil
	}
	var had fleet.Bound
	first, err := g.config.Bindings.First(ctx, v.ID)
	if err != nil {
		return err
	}
	if first != "" {
		s, err := g.config.Rows.ServiceByID(ctx, first)
		if err != nil {
			return err
		}
		had = s.Bound()
	}
	if v.Repositories, err = g.config.Fleet.BindSources(ctx, v.Spec, v.Finds(), had, true); err != nil {
		return err
	}
	return g.config.Bindings.PutBindings(ctx, v.ID, v.SpecVersion, v.Repositories)
}

// gather asks for a comparison when a target follows what its template is not bound to:
// whoever applies a template as it is stands by what it is bound to.
func (g *Globals) gather(ctx context.Context, id string) error {
	strays, err := g.config.Bindings.Strays(ctx, id)
	if err != nil || !strays {
		return err
	}
	return g.compareAll(ctx, id)
}

// bindAll binds all templates of before bindings were kept. One whose repository is gone
// is left: its targets say so.
func (g *Globals) bindAll(ctx context.Context) error {
	ids, err := g.config.Bindings.Unbound(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range ids {
		err := g.config.Writer.Write(ctx, func(ctx context.Context) error {
			v, err := g.config.Store.GlobalByID(ctx, id)
			if err == nil {
				err = g.bindFormer(ctx, &v)
			}
			if err != nil || v.Held == 0 {
				return err
			}
			if v, err = g.held(ctx, v); err != nil {
				return err
			}
			return g.bindFormer(ctx, &v)
		})
		if !declared(err) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// declared reports whether an error is one of what was declared.
func declared(err error) bool {
	return errcode.Is(err, errcode.Invalid) || errcode.Is(err, errcode.Forbidden) || errcode.Is(err, errcode.Conflict) || errcode.Is(err, errcode.NotFound)
}
