package hub

import (
	"context"
	"strings"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/globals"
)

// configured is what takes values from elsewhere: services, and the templates of
// global services.
type configured struct {
	services *fleet.Fleet
	globals  *globals.Globals
}

var _ config.Services = configured{}

// Reconfigure implements config.Services.
func (c configured) Reconfigure(ctx context.Context, id, by string, refresh bool) (bool, error) {
	if strings.HasPrefix(id, globals.Prefix) {
		return c.globals.Reconfigure(ctx, id, by, refresh)
	}
	if made, err := c.globals.Retake(ctx, id); made || err != nil {
		return made, err
	}
	return c.services.Reconfigure(ctx, id, by, refresh)
}
