// Package cli is the axle command, with which people and scripts use the hub.
//
// Each command has a file, <noun>_<verb>.go, or <noun>.go if the verbs are
// short. A command parses its arguments, calls the hub through sdk, and prints
// through print.go, so that every format of -o works the same everywhere.
// completion says what the shell offers, ask.go which commands ask before they
// act, exitcode how an error ends the command.
// The package holds no product rules: the hub decides what is allowed and what
// the defaults are.
//
// Invariants: data goes to standard output, everything else to standard error.
// Exit codes are those of exitcode. Nobody is asked without a terminal. Anything that takes longer
// than a second shows progress on a terminal and plain lines elsewhere. Colours
// appear only on a terminal, and never with NO_COLOR. A secret is read from a
// file, standard input or a prompt, never from an argument.
package cli
