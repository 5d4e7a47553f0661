// Package rows maps rows of the hub's database to values and back by column
// names. A definition names a column, beside its field, where it has another name than
// the field or an encoding; Fields adds the other fields. Every SELECT, INSERT and
// UPDATE of the table is generated from it. hub/store and the packages below it define
// their tables with it.
//
//	var users = rows.Of("users", func(c *rows.Columns, u *identity.User) {
//		rows.Hex(c, "hash", &u.Hash)
//		rows.Fields(c, u)
//	})
//	users.Select() + "WHERE name = $1"         SELECT hash, id, name FROM users WHERE name = $1
//	users.Reader()                             scans those columns into a User
//	users.All().Insert("ON CONFLICT …")        INSERT INTO users (hash, id, name) VALUES ($1, $2, $3) …
//	users.Only("id", "name").Update("id")      UPDATE users SET name = $2 WHERE id = $1
//
// It creates no schema, knows no relations between tables and generates no WHERE
// except for keys: those are plain SQL of the caller. Tables and statements are
// generated when the program starts and are safe for concurrent use; a Reader
// belongs to one query.
//
// Invariants: a column is named in one place, and its position in none. A column
// is TEXT or BIGINT, so a field of another type does not compile without an
// encoding (JSON, List, Hex, Micros, …), or panics in Fields, as does a name that a
// table does not have, when the program starts. NULL is an error except in JSON, where it is the zero
// value; a joined column gives the value for NULL with COALESCE. Reading a row
// allocates only what its values need.
package rows
