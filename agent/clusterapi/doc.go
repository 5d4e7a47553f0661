// Package clusterapi is a management cluster's agent's part in clusters that the hub makes
// with Cluster API: it connects each new cluster to the hub, once its control plane answers,
// reports their states in Cluster API's words, and knows which namespaces hold their
// credentials.
//
//	hub's specs --Set--> the services that make clusters
//	Cluster API's Secret with a kubeconfig --> is an agent installed there?
//	no --> hub: EnrollChild --> the agent's objects, applied in the new cluster
//	Cluster API's objects --> phase, machines, conditions --> hub: ReportChildren, when they change
//	a namespace, a Secret --Maker, Credential--> closed to the proxy and to other services
//
// Clusters that others made are named by PluralCAPIClusters (Finder):
//
//	a PluralCAPICluster --policy of the API server: may its author read the Secrets?
//	its token, the uid of the Cluster --> hub: EnrollChild --> as above; conditions on the object
//
// agent/poll passes the specs, agent runs it. It makes no clusters (the objects of a service
// do) and knows of a new cluster only what its service says: name, project and tags are the
// hub's.
//
// Invariants: an agent that makes no clusters does nothing. A kubeconfig runs no program and
// reads no file here. Nothing is kept on disk: what is to be done is read in the new cluster,
// whose Deployment of the agent is written last, so a kill at any point is repaired by the
// next start. For an object that the policy did not decide about, nothing is read. While nothing changes, one list of each of four kinds a minute is all that is
// asked of the API server. A cluster whose agent has an identity is never written to.
package clusterapi
