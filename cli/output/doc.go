// Package output writes what commands of axle found: as tables for people, and
// as JSON, YAML, names, JSONPath or Go templates for programs.
//
// It decides nothing about content: cli says which columns a thing has and
// passes the value to encode. It makes no calls. cli and packages below it call
// it.
//
// Invariants: JSON and YAML of a list are an array, also of nothing. A template
// sees what -o json writes. Text from others reaches a terminal without control
// characters. Colours appear only on a terminal, and never with NO_COLOR.
package output
