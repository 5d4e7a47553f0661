// Package lists generates zz_generated.lists.go of the packages of API types: the
// list type of each kind, deep copies, and AddToScheme. It parses their sources and imports
// none of them, because they do not compile without the lists. It also writes the
// console's copy of the rules of internal/rule, looks for patterns and lists of words
// that stand twice, and compares api/object with the messages of the API. `make generate` runs its tests with -update.
package lists
