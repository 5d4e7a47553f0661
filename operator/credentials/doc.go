// Package credentials shows whether NamespaceCredentials act and as whom, and that
// ReferenceGrants are in force. It decides nothing: operator/tenancy does, for each
// object. operator/controller starts it.
//
// Invariants: it writes the status of these two kinds, and nothing to the hub. One
// reconcile at a time; the hub is asked once for each change of a token and each check.
package credentials
