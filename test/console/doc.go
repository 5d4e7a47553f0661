// Package console tests what the hub does for its console, from outside: operations
// on many services, and the enrollment of clusters. It has no code of its own.
package console
