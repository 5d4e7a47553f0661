// Package shape turns messages of the hub's API into attributes of Terraform, and values
// of Terraform into messages and back. A new field of the API is a new attribute without
// a change here; rules say what a message cannot: what is required, secret, or replaces
// the object.
//
// It calls nobody and knows no kind of object. Package terraform calls it.
//
// Invariants: an unknown value sets no field. A secret comes from the configuration alone
// and is never a value of a state. What the hub does not show, or shows in other words
// with the same meaning, stays as the configuration has it, so that a second plan is
// empty.
package shape
