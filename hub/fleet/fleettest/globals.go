package fleettest

import (
	"log/slog"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/store"
)

// Global returns the fleet's global services, whose work writes through w.
func (f *Fleet) Global(w fleet.Writer) *globals.Globals {
	return globals.New(globals.Config{
		Fleet: fleet.Templates{Fleet: f.Fleet}, Rows: store.Fleet(f.Store), Moves: f.Store, Sources: f.Upstream, Writer: w,
		Store: f.Store, Bindings: f.Store, Work: f.Store, Targets: f.Store, States: f.Store, Holds: f.Store, Rollouts: f.Store, Waves: f.Store, Clock: f.Clock, Log: slog.New(slog.DiscardHandler),
	})
}
