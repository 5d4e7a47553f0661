package managed

import "context"

// Part is Write for a part of an object that has a manager of its own, such as the
// limits of a project. had and has say whether there is something before and after the
// write: a part without content is nobody's, so whoever fills it first manages it.
func Part(ctx context.Context, part string, current Manager, had, has, changes bool) (next Manager, err error) {
	switch {
	case !had && !has:
		return Manager{}, nil
	case !had:
		return Created(ctx), nil
	}
	if next, err = Write(ctx, part, current, changes); err != nil {
		return current, err
	}
	if !has {
		return Manager{}, nil
	}
	return next, nil
}
