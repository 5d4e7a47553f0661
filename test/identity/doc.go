// Package identity tests the identities of clusters from both ends: a real hub
// and the agents' own client. It is not part of the product and nothing
// imports it.
package identity
