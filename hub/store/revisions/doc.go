// Package revisions stores the history of services in the hub's database: what
// was declared (specs), what the sources held (contents), and the revisions,
// narrow rows that refer to one of each. hub/store embeds its Table.
//
// It begins no transaction (the caller's context has it) and makes no
// decisions: hub/fleet says which services change, through its interfaces.
//
// Invariants:
//   - Content is stored once however many services have it, and a spec once
//     however many revisions have it; both are deleted when no revision refers
//     to them.
//   - A commit that moves n services costs five statements per thousand, and
//     writes one narrow row per service beside the service's own row.
//   - A service's content is that of its current revision.
//   - Services that share a template's specs (services.owner_id) share its revisions:
//     one for each version and content, under the template's id.
package revisions
