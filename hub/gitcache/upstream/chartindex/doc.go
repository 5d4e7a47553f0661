// Package chartindex reads the index.yaml of a chart repository and selects
// versions from it as Helm does. An index may be 100 MB, of which a few percent
// matter. It is therefore read line by line, and only names, versions, URLs,
// digests and dates are kept, packed into one block of memory.
//
// It makes no requests and verifies no chart; the agent of artifact
// repositories does.
//
// Invariants: reading needs memory for one entry beside the result; the result
// is at most twice the size of its text; JSON and YAML give the same result; an
// entry without version or URL is skipped, and a chart that comes twice refused;
// more than 500,000 versions or 128 MiB is an error. test/field/charts has where
// Helm reads an index otherwise.
package chartindex
