// Package rows maps rows of the hub's database to values and back by the names
// of columns. A table's columns are named once, beside the fields that they are
// read into, and every SELECT, INSERT and UPDATE of the table is made from that
// definition. hub/store and the packages below it define their tables with it.
//
//	var users = rows.Of("users", func(c *rows.Columns, u *identity.User) {
//		rows.Col(c, "id", &u.ID)
//		rows.Col(c, "name", &u.Name)
//	})
//	users.Select() + "WHERE name = $1"         SELECT id, name FROM users WHERE name = $1
//	users.Reader()                             reads those columns into a User
//	users.All().Insert("ON CONFLICT …")        INSERT INTO users (id, name) VALUES ($1, $2) …
//	users.Only("id", "name").Update("id")      UPDATE users SET name = $2 WHERE id = $1
//
// It makes no schema, knows no relation between tables and writes no WHERE but
// that of keys: those are plain SQL of the caller. Tables and statements are
// made when the program starts and may be used by many goroutines; a Reader
// belongs to one query.
//
// What holds: a column is written in one place, and its position in none. A
// column is TEXT or BIGINT, so a field of another type does not compile without
// a form of its own (JSON, List, Hex, Micros, …). A name that a table does not
// have panics when the program starts. NULL is an error except in JSON, where
// it is the zero value: a joined column says what stands for it (COALESCE).
// Reading a row allocates nothing but what its values need.
package rows
