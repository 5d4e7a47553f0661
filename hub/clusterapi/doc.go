// Package clusterapi makes clusters from templates. A template is a folder of Git with a
// ClusterClass of Cluster API, what it names, and the schema of its variables. This package
// reads and checks such a folder, makes of it and of the variables the objects of one
// cluster, and places them as a service of the hub's own on a management cluster; to destroy
// the cluster it takes that service away again. In the same way it installs Cluster API
// itself, a service for each component file of the hub's list.
//
// It does not speak to Cluster API, fetches nothing and delivers nothing: the hub's wiring
// reads the folder from the git cache, an administrator brings component files, and hub/fleet
// delivers the service. It checks no access: hub/console does before.
//
// Invariants: a variable is a JSON value that the schema accepts, and becomes a value of
// spec.topology.variables, never text of a file; an object of a class is named by its
// content and what it refers to, so one that is in use is never changed; only kinds that an
// administrator listed come out; what people write in a request sets no label, no class and
// no namespace.
package clusterapi
