package event

import (
	"time"

	"github.com/axle-cd/axle/internal/position"
)

// Position is a place in the feed: a sequence number within one incarnation of
// the hub's database. The zero value is before everything.
type Position = position.Position

// ParsePosition reads the form that headers carry. Errors are Invalid.
func ParsePosition(text string) (Position, error) { return position.Parse(text) }

// Incarnation is one life of the hub's database.
type Incarnation struct {
	// ID sorts by start time as text.
	ID string
	// StartedAt is when this life began.
	StartedAt time.Time
	// ParentID is the life before, empty for the first.
	ParentID string
	// ParentKeptSequence is the parent's last sequence that this life holds.
	ParentKeptSequence int64
	// ParentKeptAt is when that sequence was committed.
	ParentKeptAt time.Time
	// Confirmed says that a person, or the rules of a clean fail-over, accepted
	// this life; while false after a restore, agents hold deletes.
	Confirmed bool
}
