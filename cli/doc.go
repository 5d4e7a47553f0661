// Package cli is the axle command: people's and scripts' way to the hub.
//
// A command is a file, <noun>_<verb>.go or <noun>.go where the verbs are
// short. Each one parses, calls the hub through sdk, and prints through
// output.go, so that -o table|json|yaml|name means the same everywhere. It
// holds no rule of the product: what is allowed, and what a default is, the
// hub decides.
//
// Invariants: data goes to standard output, everything else to standard error;
// exit codes are 0 done, 1 failed, 2 wrong usage; anything longer than a second
// shows progress on a terminal and plain lines elsewhere; colours only on a
// terminal and never with NO_COLOR; a secret is read from a file, standard
// input or a prompt, never from an argument.
package cli
