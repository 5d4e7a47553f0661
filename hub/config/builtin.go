package config

import (
	"context"
	"encoding/json"

	"github.com/axle-cd/axle/internal/errcode"
)

// builtIn is the backend in the hub's database, sealed with the hub's key.
type builtIn struct {
	store  ValueStore
	writer Writer
	sealer Sealer
}

// NewBuiltIn returns the backend in a database, which every Keeper has.
func NewBuiltIn(store ValueStore, writer Writer, sealer Sealer) Backend {
	return &builtIn{store: store, writer: writer, sealer: sealer}
}

// builtInLimit limits one value; a spec is smaller.
const builtInLimit = 2 << 20

func valuePurpose(path string) string { return "config-value/" + path }

// Read implements Backend.
func (b *builtIn) Read(ctx context.Context, path string) (map[string]string, error) {
	all, err := b.readMany(ctx, []string{path})
	if err != nil {
		return nil, err
	}
	values, ok := all[path]
	if !ok {
		return nil, errcode.New(errcode.NotFound, "there is nothing at %q in the built-in backend", path)
	}
	return values, nil
}

// readMany reads those that exist with one query.
func (b *builtIn) readMany(ctx context.Context, paths []string) (map[string]map[string]string, error) {
	sealed, err := b.store.Values(ctx, paths)
	if err != nil {
		return nil, err
	}
	all := make(map[string]map[string]string, len(sealed))
	for path, text := range sealed {
		if all[path], err = b.open(path, text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (b *builtIn) open(path, sealed string) (values map[string]string, err error) {
	plain, err := b.sealer.Open(sealed, valuePurpose(path))
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(plain, &values) != nil {
		return nil, errcode.New(errcode.Internal, "a value in the built-in backend is damaged")
	}
	return values, nil
}

func (b *builtIn) seal(path string, values map[string]string) (string, error) {
	plain, err := json.Marshal(values)
	if err != nil {
		return "", err
	}
	return b.sealer.Seal(plain, valuePurpose(path)), nil
}

// Write implements Backend.
func (b *builtIn) Write(ctx context.Context, path string, values map[string]string) error {
	sealed, err := b.seal(path, values)
	if err != nil {
		return err
	}
	return b.writer.Write(ctx, func(ctx context.Context) error { return b.store.PutValue(ctx, path, sealed) })
}

// Delete implements Backend.
func (b *builtIn) Delete(ctx context.Context, path string) error {
	return b.writer.Write(ctx, func(ctx context.Context) error { return b.store.DeleteValue(ctx, path) })
}

// Check implements Backend.
func (b *builtIn) Check(ctx context.Context) error {
	_, err := b.store.Values(ctx, []string{"check"})
	return err
}

// Limit implements Backend.
func (b *builtIn) Limit() int { return builtInLimit }

// rotateBatch is how many values one transaction reseals.
const rotateBatch = 200

// RotateKey reseals every value of the built-in backend with the hub's first
// key and returns how many were sealed with another. It may be interrupted and
// repeated at any point.
func (k *Keeper) RotateKey(ctx context.Context) (values int64, keyID string, err error) {
	b := k.places[BuiltIn].Backend.(*builtIn)
	keyID = k.config.Sealer.KeyID()
	for after := ""; ; {
		n := 0
		err = k.config.Writer.Write(ctx, func(ctx context.Context) error {
			old, err := k.config.Values.ValuesNotUnder(ctx, keyID+".", after, rotateBatch)
			if err != nil {
				return err
			}
			n = len(old)
			for path, text := range old {
				opened, err := b.open(path, text)
				if err != nil {
					return err
				}
				sealed, err := b.seal(path, opened)
				if err != nil {
					return err
				}
				if err := k.config.Values.PutValue(ctx, path, sealed); err != nil {
					return err
				}
				after = max(after, path)
			}
			return nil
		})
		if err != nil || n == 0 {
			return values, keyID, err
		}
		values += int64(n)
	}
}
