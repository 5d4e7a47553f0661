// Package generated makes objects of the operator's own cluster: the Secrets of a
// GeneratedSecret, and the Cluster objects of a ClusterSync.
//
//	references -> render -> write what differs -> delete what is not wanted any more
//
// It writes nothing to the hub, and reads there only the clusters of a ClusterSync.
// operator/controller adds it to the manager; package tenancy decides which objects of
// other namespaces an object may read and write.
//
// Invariants:
//   - It writes and deletes only what it created for the same object: the annotation
//     writtenBy says so. Another object of the name is a conflict.
//   - What is written is noted before, so that a kill leaves nothing that nobody deletes.
//   - A rendered value is kept while its template, and the configuration that it uses,
//     stay as they are. So random values do not change.
//   - Templates have limits of steps and output for all values of an object together.
//   - An object that is as wanted is not written.
package generated
