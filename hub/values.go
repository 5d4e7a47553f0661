package hub

import (
	"github.com/axle-cd/axle/hub/config"
)

// newValues makes what keeps values, with the backends that are declared.
func (h *Hub) newValues() (*config.Keeper, error) {
	return config.New(config.Config{Store: h.store, Writer: h.store, Sealer: h.store.Sealer(), Clock: h.config.Clock, Log: h.log})
}
