// Package helm renders a chart with Helm's template engine. It installs nothing:
// hooks are returned as objects with their annotations, and the agent keeps what Helm
// would store in a release.
//
// A chart sees the same environment for the life of a service: always an install (or,
// on request, an upgrade) of revision 1, at the creation time of the service's
// revision. The result equals the output of helm template, which test/goldens
// compares. Values that a chart generates anew each time (passwords, certificates,
// UUIDs) are found by rendering twice and marked volatile.
//
// Precedence of values, low to high: the chart's values.yaml, values.yaml.liquid
// beside it, the values files in order, the files named by Lua scripts, the inline
// values, the values made by Lua scripts. A values file that ends in .liquid or .tpl
// is a template. Subcharts come from charts/ or, with a file:// repository, from the
// service's files; nothing is fetched. Rendering one object twice is an error.
//
// The render child calls it. Helm's own packages link much that is never called here
// (a Kubernetes client for lookup). That is the price of the original engine, and
// only the child pays it.
package helm
