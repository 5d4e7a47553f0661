package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/test/pg"
)

// BenchmarkWrite measures commits with a feed row from many writers, single and
// batched.
func BenchmarkWrite(b *testing.B) {
	for name, config := range map[string]func() store.Config{
		"sqlite":   func() store.Config { return store.Config{DataDir: b.TempDir()} },
		"postgres": func() store.Config { return store.Config{DataDir: b.TempDir(), DatabaseURL: pg.New(b)} },
	} {
		s, err := store.Open(b.Context(), config())
		if err != nil {
			b.Fatal(err)
		}
		for how, write := range map[string]func(context.Context, func(context.Context) error) error{"alone": s.Write, "batched": s.WriteBatched} {
			b.Run(name+"/"+how, func(b *testing.B) {
				b.SetParallelism(100)
				var n atomic.Int64
				b.RunParallel(func(p *testing.PB) {
					for p.Next() {
						key := fmt.Sprint(n.Add(1) % 1000)
						err := write(b.Context(), func(ctx context.Context) error {
							return errors.Join(s.SetSetting(ctx, key, "x"), announce(s, key)(ctx))
						})
						if err != nil {
							b.Fatal(err)
						}
					}
				})
			})
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
