package store

import "context"

// settingMinor is the setting with the version of the schema, which sqldb writes.
const settingMinor = "schema_minor"

// Setting returns a setting of the whole hub, empty when it was never set.
func (s *Store) Setting(ctx context.Context, name string) (string, error) {
	text, _, err := rowOf(ctx, s, value[string], "SELECT value FROM settings WHERE name = $1", name)
	return text, err
}

// SetSetting sets it in the transaction of ctx.
func (s *Store) SetSetting(ctx context.Context, name, value string) error {
	_, err := s.exec(ctx, `INSERT INTO settings (name, value) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}
