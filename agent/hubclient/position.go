package hubclient

import (
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/position"
)

// Position is a place in the hub's change feed. The zero value is before all.
type Position = position.Position

// ParsePosition reads the form that headers carry. Errors are Invalid.
func ParsePosition(text string) (Position, error) { return position.Parse(text) }

// PositionOf is a place as messages carry it.
func PositionOf(p *agentv1.Position) Position { return positionOf(p) }

func positionOf(p *agentv1.Position) Position {
	return Position{Incarnation: p.GetIncarnation(), Sequence: p.GetSequence()}
}
