package event

import (
	"time"

	"github.com/axle-cd/axle/internal/position"
)

// Position is a position in the feed: a sequence number within one incarnation
// of the hub's database. The zero value is before everything.
type Position = position.Position

// ParsePosition parses the form that headers carry. Errors are Invalid.
func ParsePosition(text string) (Position, error) { return position.Parse(text) }

// Incarnation is one life of the hub's database: a restore begins a new one.
type Incarnation struct {
	// ID sorts by start time as text.
	ID string
	// StartedAt is when this incarnation began.
	StartedAt time.Time
	// ParentID is the previous incarnation, empty for the first.
	ParentID string
	// ParentKeptSequence is the parent's last sequence that this incarnation
	// has.
	ParentKeptSequence int64
	// ParentKeptAt is when that sequence was committed.
	ParentKeptAt time.Time
	// Confirmed is set when a person, or the rules of a clean fail-over,
	// accepted this incarnation; while it is false after a restore, agents hold
	// deletes.
	Confirmed bool
}
