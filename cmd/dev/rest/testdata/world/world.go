// Package world has a test without the operator: the hub has the last word.
package world

import (
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

const limit = 30 * time.Second

// The cluster has the objects, and the pass that brought them goes on.
func TestAgentUpgradesItself(t *testing.T, w *world.World) {
	if _, err := w.Axle(t.Context(), "services", "create", "edge/app", "--repo", "fleet"); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, limit, "it is there", func() error {
		_, err := w.Kubectl(t.Context(), "edge", "get", "configmap", "one")
		return err
	})
	before, err := w.Kubectl(t.Context(), "edge", "get", "configmap", "one", "-o", "yaml") // want
	if err != nil {
		t.Fatal(err)
	}
	eventually.For(t, limit, "the next version", func() error {
		_, err := w.Axle(t.Context(), "agents", "status", "-o", "json")
		return err
	})
	after, err := w.Kubectl(t.Context(), "edge", "get", "configmap", "one", "-o", "yaml")
	if err != nil || after.Out != before.Out {
		t.Errorf("it was touched: %s, %v", after.Out, err)
	}
}
