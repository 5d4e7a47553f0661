package hubv1

import "embed"

// Files are the definitions that this package is generated from, for what shows their
// comments to people.
//
//go:embed *.proto
var Files embed.FS
