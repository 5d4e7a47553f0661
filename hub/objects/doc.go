// Package objects keeps the declared objects of kinds that have no table of their own: it
// creates, changes, lists and deletes them, resolves what they name, and records an event
// for each change. A kind is a value that the caller gives, and its settings are JSON that
// this package does not read; hub/console makes both of a kind's description.
//
// It checks no access and no rule of a field: hub/console does both before. A part of the
// hub that acts on a kind adds its Check, and reads the objects from here.
//
// Invariants: a name that an object mentions is resolved once, when it is written, with the
// rights of the writer, and stays bound to the id that it found: an object of the same name
// that is made later is never taken in its place. What is referred to is not deleted. Each
// write counts the revision up by one, and changes the revision that it read.
package objects
