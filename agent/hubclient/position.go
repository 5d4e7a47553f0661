package hubclient

import (
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/position"
)

// Position is a position in the hub's change feed. The zero value is before all
// others.
type Position = position.Position

// ParsePosition parses the format of the headers. Errors are Invalid.
func ParsePosition(text string) (Position, error) { return position.Parse(text) }

// PositionOf converts a position from a message.
func PositionOf(p *agentv1.Position) Position { return positionOf(p) }

func positionOf(p *agentv1.Position) Position {
	return Position{Incarnation: p.GetIncarnation(), Sequence: p.GetSequence()}
}
