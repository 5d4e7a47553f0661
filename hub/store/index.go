package store

import (
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/store/indexed"
)

// Index returns the rows of the fleet as hub/fleet/index asks for them.
func Index(s *Store) index.Store {
	tables := indexed.New(s.db)
	return index.Store{ServiceStore: tables, ObjectStore: tables}
}
