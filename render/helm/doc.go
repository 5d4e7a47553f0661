// Package helm renders a chart with Helm's template engine. It installs
// nothing: hooks come out as objects with their annotations, and what Helm
// would remember in a release is the agent's business.
//
// What a chart can see is constant for the life of a service: it is always an
// install (or, when asked for, an upgrade) of revision 1, at the creation time
// of the service's revision. What it renders is what helm template prints,
// which test/goldens compares.
// Values that a chart generates anew each time (passwords, certificates,
// UUIDs) are found by rendering twice and marked volatile.
//
// Precedence of values, low to high: the chart's values.yaml,
// values.yaml.liquid beside it, the values files in order, those that Lua
// scripts name, the inline values, the values that Lua scripts make.
// A values file that ends in .liquid or .tpl is a template.
// Subcharts come from charts/ or, by a file:// repository, from the service's
// files; nothing is fetched. One object rendered twice is an error.
//
// The render child calls it. Helm's own packages link much that is never
// called here (a Kubernetes client for lookup); that is the price of the
// original engine and is paid in the child alone.
package helm
