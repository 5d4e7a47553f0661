// Package dashboard reads Dashboards of platform.plural.sh, checks them, puts the values of their
// variables into their queries and asks for what they draw. The axle command checks files
// with it, and the hub draws with it.
//
// What a dashboard says comes from whoever wrote the application. Invariants:
//   - A query is parsed before it is asked. A variable stands in the value of a matcher and
//     nowhere else, and its value is put into the parsed query: whatever it holds, it is one value
//     of that matcher. In a regular expression it matches itself.
//   - The error of a query names its graph, by number and name, the query and the position.
//   - Numbers and sizes are bounded, also of objects that no API server has seen; no more than
//     queriesAtOnce queries of a drawing run at once.
//   - What is no number is dropped: it is a hole.
//
// The package authorizes nobody and limits no query to namespaces: a Querier does.
package dashboard
