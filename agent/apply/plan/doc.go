// Package plan turns rendered objects into what is applied: bodies with our marks, in
// stages and waves, as far as the service's permit and settings allow.
//
// It writes nothing; the only requests are discovery for kinds that are unknown.
// agent/apply makes a plan for each pass, diff and claim.
//
// Invariants: an object without the permit's consent is a problem of the plan and not
// an item; the rendered objects are not changed; equal objects and settings give equal
// hashes.
package plan
