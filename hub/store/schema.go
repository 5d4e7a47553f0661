package store

import (
	"embed"
	"io/fs"

	"github.com/axle-cd/axle/hub/store/sqldb"
)

// SchemaMinor is the minor version of the product that the newest migration
// belongs to. A migration only adds in the release that brings it; what it
// replaces goes two releases later, so a hub can work with the schema of the
// next minor version, and no further.
const SchemaMinor = 1

//go:embed migrations/*.sql
var migrationFiles embed.FS

// schema is that of this version.
func schema() sqldb.Schema {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // the name is one of the embedded
	}
	return sqldb.Schema{Migrations: files, Minor: SchemaMinor}
}
