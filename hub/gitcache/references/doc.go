// Package references finds references to other files and to other servers' content
// in kustomizations, charts, .gitmodules, .gitattributes and the pointers of
// Git LFS.
//
// It parses only the text that it is given: it does not search, fetch or
// authorize. The mirror reader (hub/gitcache/mirror) and the git agent call
// it. Every text is untrusted tenant input: text that cannot be parsed has no
// references, because the renderer reports a better error, and texts above 1
// MiB are skipped.
package references

// maxText limits what is parsed: a kustomization of a megabyte is an attack or
// a mistake.
const maxText = 1 << 20

// Kind is the kind of external content that a file needs.
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

// External is a reference to content of another server. Which fields are set
// depends on the kind.
type External struct {
	Kind Kind
	// File and Line are the place of the reference; File is relative to where
	// the reader began.
	File string
	Line int
	// Text is the reference as it is written.
	Text string
	// URL is the repository's URL.
	URL string
	// Ref and Folder are set for a Base. Submodules is false when it requests
	// none.
	Ref        string
	Folder     string
	Submodules bool
	// Name and Version are set for a chart; Version may be a range, or empty
	// for the newest.
	Name    string
	Version string
	// Home is where a kustomization first searches for an inflated chart,
	// relative to its own folder.
	Home string
	// Problem says, for the file's author, why the content can never be had.
	Problem string
}
