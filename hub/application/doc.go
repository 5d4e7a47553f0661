// Package application owns the clients of the hub's identity provider: what an application
// may ask for, who may log in, and its secrets. Applications are objects (hub/objects), whose
// settings it checks when they are written; hub/oidc reads them from here.
//
// It speaks no protocol, knows no session and checks no access of the writer: hub/console
// does before. What brings a Secret to a cluster is the Deliverer, which the hub's wiring
// implements with a service.
//
// Invariants:
//   - A client id that the hub made begins with app_. No other client, and no audience that
//     the hub knows, has that form or equals a client id.
//   - Of a secret the hub keeps a keyed hash, and of the present one also the sealed text, for
//     the delivery. Nothing shows it.
//   - At most two secrets of a client are valid. The former one ends only after its time, and,
//     when a Secret is delivered, only after the agent reported the new one.
//   - Redirect URIs are compared as a whole. Each lies below a domain of the project, or is
//     this machine's own.
//   - With neither users nor groups nobody may log in. A group that goes widens nothing.
package application
