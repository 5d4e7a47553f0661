package rows

// Parts of statements about who is bound to the repository $1.
const (
	// Templates joins global services g with the versions d of their templates that
	// targets have or get.
	Templates = "global_services g JOIN specs d ON d.owner_id = g.id AND (d.version = g.spec_version OR d.version = g.held_version) "
	// Strays are the targets s of global services g that follow a repository r to which
	// the template d is not bound: each was bound by itself before templates were.
	Strays = ` JOIN global_services g ON g.id = s.managed_by_id JOIN specs d ON d.owner_id = g.id AND d.version = g.spec_version
		WHERE s.managed_by_tool = 'hub' AND d.repositories <> '' AND d.repositories NOT LIKE '%"' || r.id || '"%' `
	// Contains is the pattern of a list of ids that contains it.
	Contains = `'%"' || CAST($1 AS TEXT) || '"%' `
	// Followers are the services that follow it.
	Followers = "SELECT id FROM services WHERE repository_id = $1 UNION SELECT service_id FROM service_sources WHERE repository_id = $1"
)
