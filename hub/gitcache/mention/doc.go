// Package mention reads the files in which people name other files and the
// content of other servers: kustomizations, charts, .gitmodules,
// .gitattributes and the pointers of Git LFS.
//
// It only reads texts that it is given: it looks for nothing, fetches nothing
// and decides nothing about who may have what. The reader of mirrors
// (hub/gitcache/upstream) and the git agent call it. Every text is a tenant's:
// one that cannot be read mentions nothing, since the renderer has the better
// words for what is wrong with it, and texts above 1 MiB are not looked into.
package mention

// maxText bounds what is parsed: a kustomization of a megabyte is an attack or
// a mistake.
const maxText = 1 << 20

// Kind says what sort of foreign content a file needs.
type Kind string

// The kinds.
const (
	// Base is a kustomization in another Git repository.
	Base Kind = "base"
	// Dependency is a chart that another chart depends on.
	Dependency Kind = "dependency"
	// Inflated is a chart that a kustomization renders.
	Inflated Kind = "chart"
)

// Need is content of another server that a file names. What of the fields is
// set depends on the kind.
type Need struct {
	Kind Kind
	// File and Line say where, File by its path from where the reader began.
	File string
	Line int
	// Text is the reference as it is written.
	Text string
	// URL is the repository's.
	URL string
	// Ref and Folder of a Base. Submodules is false when it asks for none.
	Ref        string
	Folder     string
	Submodules bool
	// Name and Version of a chart; Version may be a range, or empty for the
	// newest.
	Name    string
	Version string
	// Home is where a kustomization looks for an inflated chart first, from
	// its own folder.
	Home string
	// Problem says why it can never be had, for its author.
	Problem string
}
