package backup

import (
	"context"
	"io"

	"github.com/axle-cd/axle/internal/errcode"
)

// Put makes a backup by hand, at s3://BUCKET/NAME or a file's path, and returns its size.
func Put(ctx context.Context, target string, a Access, fill func(w io.Writer) error) (int64, error) {
	place, name, err := at(ctx, target, a)
	if err != nil {
		return 0, err
	}
	if name == "" {
		return 0, errcode.New(errcode.Invalid, "%s is a place for backups; name the file in it", target)
	}
	return place.Put(ctx, name, fill)
}

// Get opens a backup, or the newest of the schedule where a whole place is named, and
// returns its name.
func Get(ctx context.Context, target string, a Access) (string, io.ReadCloser, error) {
	place, name, err := at(ctx, target, a)
	if err == nil && name == "" {
		var newest File
		newest, err = Newest(ctx, place)
		name = newest.Name
	}
	if err != nil {
		return "", nil, err
	}
	from, err := place.Open(ctx, name)
	return name, from, err
}

// List lists the scheduled backups at a place, newest first.
func List(ctx context.Context, place string, a Access) ([]File, error) {
	p, err := checked(ctx, place, a)
	if err != nil {
		return nil, err
	}
	return p.List(ctx)
}

// at returns where a target is, with its name there.
func at(ctx context.Context, target string, a Access) (Place, string, error) {
	where, name := Split(target)
	place, err := checked(ctx, where, a)
	return place, name, err
}

func checked(ctx context.Context, place string, a Access) (Place, error) {
	if err := Check(place, a); err != nil {
		return nil, err
	}
	return Open(ctx, place, a)
}
