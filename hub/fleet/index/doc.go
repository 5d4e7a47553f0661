// Package index is the read model of the console: the clusters, services, repositories
// and projects of the whole fleet, in the memory of each replica, in a form that is
// filtered, sorted, counted and searched without a query.
//
// It loads everything with one statement per table at the start, and then follows the
// change feed: a row makes it read those objects again. It holds what lists filter by,
// not what they show: a list asks it which objects are in its window, and reads those,
// 500 at most, from the database.
//
//	feed row -> Apply: read the object again, tell the listeners
//	list     -> Services, Clusters: filter, count facets, sort, cut the window
//	         -> hub/fleet reads the rows of the window by id
//
// Freshness and the tunnel are not held: hub/fleet and hub/tunnel know them, and a
// query asks them once per cluster. hub/console/fleetapi is the caller; hub/fleet/watch
// listens. It decides nothing about access, but every query takes the caller's reach
// and counts nothing outside of it.
//
// Invariants: a service costs at most 250 B beside its names (test/benchmarks/fleet-index.json);
// a query reads no database, and one over 100,000 services takes less than 80 ms; a
// change costs in proportion to what changed; a service of a Stale cluster has the
// verdict Stale and is never counted as Healthy. It does not know what a service waits
// for on other clusters: such a service counts with the state that its agent reported.
package index
