package store_test

import (
	"context"
	"testing"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store"
)

func TestWriteAppendsToFeed(t *testing.T) {
	s, err := store.Open(t.Context(), store.Config{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, receipt := event.WithReceipt(t.Context())
	err = s.Write(ctx, func(ctx context.Context) error {
		return event.Append(ctx, event.Change{Kind: event.KindService, Key: "a"})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(receipt.Position())
	err = s.WriteBatched(ctx, func(ctx context.Context) error {
		return event.Append(ctx, event.Change{Kind: event.KindService, Key: "b"})
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.ChangesAfter(ctx, 0, 10)
	t.Log(rows, err, receipt.Position())
}
