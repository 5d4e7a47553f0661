// Package fieldname names the fields of an object and their writers, from its
// managedFields: ".spec.template.spec.containers[name=\"app\"].image (by
// kubectl-edit)". It compares sets of field owners, never values, and makes no
// requests. The agent's drift and its diff both call it, so that they report the
// same.
//
// One answer holds at most Most names; the rest is counted.
package fieldname
