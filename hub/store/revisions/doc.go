// Package revisions is the history of services in the hub's database: what is
// declared (specs), what sources gave (contents), and the revisions, which are
// narrow rows that name one of each. hub/store embeds its Table.
//
// It knows no transaction, which the caller's context has, and decides nothing:
// which services change is said by hub/fleet, in the words of its interfaces.
//
// What holds:
//   - Content is stored once however many services have it, and a spec once
//     however many revisions it has; both go when no revision names them.
//   - A commit that moves n services is five statements for each thousand, and
//     writes one narrow row a service beside the service's own.
//   - A service's content is that of its present revision.
package revisions
