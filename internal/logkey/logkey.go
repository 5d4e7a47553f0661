// Package logkey holds the keys of structured log lines, so that one thing has
// one name in every component's log. It holds nothing else.
package logkey

// The keys. Values are ids and names, never secrets or whole objects.
const (
	Error       = "error"
	Cluster     = "cluster"
	Service     = "service"
	Repository  = "repository"
	Source      = "source"
	Step        = "step"
	Digest      = "digest"
	Revision    = "revision"
	Ref         = "ref"
	Folder      = "folder"
	Object      = "object"
	Count       = "count"
	Bytes       = "bytes"
	Duration    = "duration"
	Address     = "address"
	Position    = "position"
	Incarnation = "incarnation"
	Replica     = "replica"
	Epoch       = "epoch"
	Method      = "method"
	Path        = "path"
	Status      = "status"
	User        = "user"
	Reason      = "reason"
	Version     = "version"
	Kind        = "kind"
)
