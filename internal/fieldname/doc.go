// Package fieldname names the fields of an object and who wrote them, from its
// managedFields: ".spec.template.spec.containers[name=\"app\"].image (by
// kubectl-edit)". It compares sets of field owners, never values, and asks
// nobody. The agent's drift and its diff call it, so that both say the same.
//
// Names that one answer holds are at most Most; the rest is counted.
package fieldname
