package store

import (
	"embed"

	"github.com/axle-cd/axle/hub/store/sqldb"
)

// SchemaMinor is the minor version of the product that the newest migration
// belongs to. A migration only adds columns and tables in the release that
// introduces it; what it replaces is removed two releases later. A hub can
// therefore work with the schema of the next minor version, and no later one.
const SchemaMinor = 1

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Schema returns the schema of this version.
func Schema() sqldb.Schema { return sqldb.Schema{Migrations: migrationFiles, Minor: SchemaMinor} }
