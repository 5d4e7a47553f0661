// Package values makes the commands about values that services share: axle
// contexts, outputs and config.
//
// A service's own values are cli/services's. Package cli calls it.
//
// Invariants: the value of a secret is never printed and never an argument. Outputs
// are stored whole, so outputs put refuses to store nothing; contexts set leaves
// what it does not name, unless --replace is given.
package values
