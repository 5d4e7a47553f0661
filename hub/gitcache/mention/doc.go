// Package mention finds references to other files and to other servers' content
// in kustomizations, charts, .gitmodules, .gitattributes and the pointers of
// Git LFS.
//
// It parses only the text that it is given: it does not search, fetch or
// authorize. The mirror reader (hub/gitcache/upstream) and the git agent call
// it. Every text is untrusted tenant input: text that cannot be parsed has no
// references, because the renderer reports a better error, and texts above 1
// MiB are skipped.
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
