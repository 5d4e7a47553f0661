// Package observe answers what the hub asks about the metrics, logs and alerts of the
// cluster: which stores there are, in which namespaces a person may read the logs of pods,
// and single requests of a store's API.
//
// It finds stores by well-known names and labels, and asks them through the API server's
// proxy of services, with the agent's own identity: a GET on a path that internal/telemetry
// lists. It limits no query to namespaces: the hub does, by the namespaces that it was told
// here. agent wires it; agent/tunnel/authproxy has checked the agent's policy before.
//
// Invariants: nothing but a listed path of a store is asked, whatever the hub sends; no
// redirect is followed; an answer has at most telemetry.MaxAnswer bytes and comes in time;
// a person is in a namespace only if the agent's policy and the cluster's RBAC say so.
package observe
