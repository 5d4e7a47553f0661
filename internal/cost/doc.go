// Package cost knows what an expression that somebody else wrote takes, before it runs.
//
// The unit is a step: about 5 µs of one core of 2024. Of a regular expression it is known
// exactly enough: Go's matcher takes time in proportion to the length of the text and to
// the size of the compiled program, whatever both are. So the product is charged, and what
// is more than the caller has left is refused instead of begun. Wall time decides nothing
// here: the same expression on the same text is refused on every machine, or on none.
//
// docs/limits.md lists every expression that people may write, with its bound.
package cost
