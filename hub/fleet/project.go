package fleet

// DefaultProject is the project that is there from the start and stands in
// where none is named.
const DefaultProject = "default"

// DefaultProjectID is its id.
const DefaultProjectID = "prj_default"

// Project groups clusters, repositories and services for access.
type Project struct {
	ID          string
	Name        string
	Description string
	// CreatedAt is microseconds since 1970 UTC, as every time in this package.
	CreatedAt int64
	// Clusters and Services are counts, filled by reads.
	Clusters int
	Services int
}
