package rows

// Parts of statements about who is bound to the repository $1.
const (
	// Templates joins global services g with the versions d of their templates that
	// targets have or get.
	Templates = "global_services g JOIN specs d ON d.owner_id = g.id AND (d.version = g.spec_version OR d.version = g.held_version) "
	// Contains is the pattern of a list of ids that contains it.
	Contains = `'%"' || CAST($1 AS TEXT) || '"%' `
	// Followers are the services that follow it.
	Followers = "SELECT id FROM services WHERE repository_id = $1 UNION SELECT service_id FROM service_sources WHERE repository_id = $1"
)
