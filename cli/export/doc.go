// Package export makes axle get and axle export, which print or write the objects of the
// hub as manifests that axle apply takes back unchanged.
//
// It reads the hub and writes files. What a manifest says is in sdk/manifest. It never
// writes to the hub, and it has no secrets, because the hub does not show them. Package
// cli calls it.
//
// Invariants: an object that has no manifest is named on standard error, and the others
// are exported. A file is whole or not there, and is replaced only with --force. At most
// 16 objects are read at the same time.
package export
