//go:build nopages

package main

import "io/fs"

// embedded returns no files: the hub says that it was built without them.
func embedded() (console, docs fs.FS) { return nil, nil }
