// Package lists generates zz_generated.lists.go of the packages of API types: the
// list type of each kind, deep copies, and AddToScheme. It parses their sources and imports
// none of them, because they do not compile without the lists. `make generate`
// runs its test with -update.
package lists
