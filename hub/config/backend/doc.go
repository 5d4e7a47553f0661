// Package backend are the places beside the hub's own database where values
// may lie: OpenBao and Vault (KV version 2), Kubernetes Secrets, AWS Secrets
// Manager, Google Secret Manager, Azure Key Vault, and files in Git that SOPS
// encrypted for age.
//
// Each type of this package is one place with one set of rights; all follow
// the contract that hub/config's tests run over every one of them. They keep
// no values, only tokens in memory. hub makes them from the file of
// --config-backends; hub/config calls them.
//
// Invariants: an error names the path and what the other side answered, and
// never holds a value, a token or a key; every call ends within 20 s; an
// answer is at most 4 MiB; a path cannot leave the mount, the project or the
// namespace that was configured.
package backend
