// Package backend implements the stores outside the hub's database that can
// hold values: OpenBao and Vault (KV version 2), Kubernetes Secrets, AWS
// Secrets Manager, Google Secret Manager, Azure Key Vault, and files in Git
// that SOPS encrypted for age.
//
// Each type connects to one such store with one set of credentials. All pass
// the contract tests of hub/config/configtest. They cache no values, only
// access tokens in memory. hub creates them from the file that
// --config-backends names; hub/config calls them.
//
// Invariants: an error names the path and what the store answered, and never
// holds a value, a token or a key; every call ends within 20 s; an answer is at
// most 4 MiB; a path cannot leave the mount, the project or the namespace that
// was configured.
package backend
