// Package command is what every command of axle needs: the streams and global
// flags of one invocation (App), the hub and the token that they choose, and the
// helpers that read arguments and secrets, print, wait and show progress.
//
// It holds no command of its own and imports none. The packages of the nouns, such
// as cli/services, build their commands with it, and package cli makes the App.
//
// Invariants: data goes to App.Out, everything else to App.Err. The hub is asked
// only when a command runs or is completed, never when it is made. Nothing here ends the process:
// an error goes up to cli, which gives it its exit code. The file of contexts has
// mode 0600 and is replaced whole. A progress line appears after a second on a
// terminal, and every ten seconds elsewhere.
package command
