// Package cli is the axle command, with which people and scripts use the hub.
//
// It puts the command together: Run, the root command with the global flags, and
// what holds for all commands (completion, the questions before something is
// destroyed, exit codes, documentation). The commands themselves stand in one
// package for each large noun or family of nouns, such as cli/services; they build
// on cli/command and do not import each other. A command parses its arguments, calls
// the hub through sdk, and prints through cli/command, so that every format of -o
// works the same everywhere.
// It holds no product rules: the hub decides what is allowed and what the defaults
// are. cmd/axle calls Run.
//
// Invariants: data goes to standard output, everything else to standard error.
// Exit codes are those of exitcode. Nobody is asked without a terminal. Anything
// that takes longer than a second shows progress on a terminal and plain lines
// elsewhere. Colours appear only on a terminal, and never with NO_COLOR. A secret is
// read from a file, standard input or a prompt, never from an argument.
package cli
