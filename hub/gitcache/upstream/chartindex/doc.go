// Package chartindex reads the index.yaml of a chart repository and picks
// versions from it as Helm does. An index may be 100 MB of which a few percent
// matter, so it is read line by line and only names, versions, URLs, digests
// and dates are kept, packed in one piece of memory.
//
// It makes no requests and verifies no chart; the agent of artifact
// repositories does.
//
// Invariants: reading takes memory for one entry beside the result; the result
// is at most twice its own text; an index in JSON and one in YAML give the
// same; an entry without version or URL is passed by, as Helm does; more than
// 500,000 versions or 128 MiB are refused.
package chartindex
