// Package rights has the controllers of the kinds that say who may do what in the
// management cluster: NamespaceCredentials and ReferenceGrant. Both only write statuses.
// Package tenancy reads the objects itself and decides; what it allows does not wait for
// a status. operator/controller adds them to the manager.
//
// Invariant: one call of the hub for a token that changed, and for each check of it; none
// for a grant.
package rights
